"""The stage: statistics of every head in text (section 3), and sentences on which heads are drawn."""

from collections.abc import Iterator

import pandas as pd

from headscope.analyses.stage_result import StageResult, notes_on
from headscope.analyses.stats.accumulator import StatsAccumulator
from headscope.analyses.stats.layout import stats_table
from headscope.analyses.stats.norm_accumulator import NormStatsAccumulator
from headscope.analyses.stats.stats_differences import stats_differences
from headscope.attention.scan import scan
from headscope.counted import count
from headscope.examples.clearest import ClearestAccumulator
from headscope.examples.collector import ExampleCollector, examples_table
from headscope.examples.example_inputs import example_tokens
from headscope.examples.example_tables import CLEAREST
from headscope.examples.excerpts import ExcerptCollector, inputs_to_read
from headscope.prepare.prepared_run import Run, Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text
from headscope.statistics.measures import of_measure
from headscope.statistics.roles import roles


def measure_stats(run: Run, watch: Watcher | None = None) -> StageResult:
    """Measure what heads look at in text: one scan, the table, and sentences to draw heads on."""
    sums, clearest = scan_stats(run, watch)
    table = stats_table(sums.compute())
    stats = of_measure(table)
    named = roles(stats)
    collector = ExampleCollector()
    scan(run.example_source(), [collector])
    examples = examples_table(collector.maps, stats, named, names=run.names)
    return StageResult(
        name="stats",
        tables={
            "stats": table,
            "stats_differences": stats_differences(sums),
            "examples": examples,
            "clearest": clearest_table(run, clearest, named),
        },
        notes=notes_on("stats", *_left_out(sums)),
        state={**sums.state(), **clearest.state()},
    )


def scan_stats(run: Run, watch: Watcher | None = None) -> tuple[StatsAccumulator, ClearestAccumulator]:
    """Sum the statistics over the text, and keep the clearest segments."""
    sums, clearest = stats_sums(run)
    read_text(run, [sums, clearest], stage="stats", said="reading heads", watch=watch)
    return sums, clearest


def stats_sums(run: Stream) -> tuple[StatsAccumulator, ClearestAccumulator]:
    """Return the accumulators of the stage, empty."""
    # Saved maps hold no values.
    kind = NormStatsAccumulator if run.options.maps is None else StatsAccumulator
    return kind(run.layout), ClearestAccumulator(run.layout)


def _left_out(sums: StatsAccumulator) -> Iterator[str]:
    if isinstance(sums, NormStatsAccumulator):
        for kind, rows in sums.left_out.items():
            if number := int(rows.sum()):
                yield (
                    f"of {count(number, 'row')} of {kind} heads nothing at all is written; they are left out of the "
                    "statistics of what heads write"
                )


def clearest_table(run: Run, clearest: ClearestAccumulator, named: pd.DataFrame) -> pd.DataFrame:
    """Read chosen segments again (`example_tokens`), and lay out what each head does there as `clearest.parquet`.

    Args:
        run: a `ModelRun` or a `MapsRun`.
        clearest: what its scan kept.
        named: from `behaviors.roles`.

    Returns:
        A row for each head and rank: `value` is the mean over the whole segment; `tokens`, `keys` and `weights`
        (row-major) are those of a stretch of it, which begins at position `start`; `text` is that stretch as text.
    """
    lengths = {key: len(segment) for key, segment in clearest.segments.items()}
    room = example_tokens(run.facts()["counts"]["tokens"])
    chosen = inputs_to_read(clearest.compute(), named, lengths, tokens=room)
    collector = ExcerptCollector(named)
    if chosen:
        scan(run.again([clearest.segments[key] for key in sorted(chosen)]), [collector])
    rows = []
    for excerpt in collector.excerpts:
        tokens, keys, text = run.excerpt_words(excerpt)
        about = vars(excerpt.wanted)
        rows.append(
            {
                **{name: about[name] for name in CLEAREST.names if name in about},
                "start": excerpt.start,
                "tokens": tokens,
                "keys": keys,
                "weights": excerpt.weights.astype("float64").reshape(-1).tolist(),
                "text": text,
            }
        )
    return pd.DataFrame(rows, columns=CLEAREST.names)
