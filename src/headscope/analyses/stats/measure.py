"""The statistics stage: statistics of every head in text (section 3), and example sentences for figures of heads."""

from collections.abc import Iterator

import pandas as pd

from headscope.analyses.excerpt_columns import excerpt_columns
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on, notes_on_left_out
from headscope.analyses.stats.accumulator import StatsAccumulator
from headscope.analyses.stats.layout import stats_table
from headscope.analyses.stats.norm_accumulator import NormStatsAccumulator
from headscope.analyses.stats.stats_differences import stats_differences
from headscope.examples.collector import ExampleCollector, examples_table
from headscope.examples.example_inputs import example_tokens
from headscope.examples.example_tables import TOP_EXAMPLES
from headscope.examples.excerpts import ExcerptCollector, inputs_to_read
from headscope.examples.top_examples import TopExampleAccumulator
from headscope.prepare.prepared_run import Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.scans.short_memory import collect
from headscope.statistics.measures import of_measure
from headscope.statistics.roles import roles


class StatsMeasurement(Measurement[Run]):
    """Measures the attention of heads in text: the table of statistics, and example sentences for figures."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text: the statistics, and the segments with the best examples of each head."""
        layout = self.run.layout
        # Saved maps hold no values.
        kind = NormStatsAccumulator if self.run.options.maps is None else StatsAccumulator
        accumulators = [kind(layout), TopExampleAccumulator(layout)]
        yield Scan(RunText(self.run), accumulators, label="reading heads")

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables; the example sentences are read again for their maps, a few at a time."""
        stats, top_examples = sums.of(StatsAccumulator), sums.of(TopExampleAccumulator)
        table = stats_table(stats.compute())
        of_heads = of_measure(table)
        named = roles(of_heads)
        collector = collect(self.run.example_source, ExampleCollector)
        examples = examples_table(collector.maps, of_heads, named, names=self.run.names)
        rows_left_out = stats.left_out if isinstance(stats, NormStatsAccumulator) else {}
        left_out = notes_on_left_out(rows_left_out, "statistics of what heads write")
        return StageResult(
            name="stats",
            tables={
                "stats": table,
                "stats_differences": stats_differences(stats),
                "examples": examples,
                "top_examples": top_examples_table(self.run, top_examples, named),
            },
            notes=notes_on("stats", *left_out),
            state={**stats.state(), **top_examples.state()},
        )


def top_examples_table(run: Run, top_examples: TopExampleAccumulator, named: pd.DataFrame) -> pd.DataFrame:
    """Read chosen segments again (`example_tokens`), and return each head's attention there as `top_examples.parquet`.

    Args:
        run: a `ModelRun` or a `MapsRun`.
        top_examples: accumulator after the run's scan.
        named: roles of the heads, from `statistics.roles`.

    Returns:
        A row for each head and rank: `value` is the mean over the whole segment; `tokens`, `keys` and `weights`
        (row-major) are those of a stretch of it, which begins at position `start`; `text` is that stretch as text.
    """
    lengths = {key: len(segment) for key, segment in top_examples.segments.items()}
    room = example_tokens(run.facts()["counts"]["tokens"])
    chosen = inputs_to_read(top_examples.compute(), named, lengths, tokens=room)
    segments = [top_examples.segments[key] for key in sorted(chosen)]
    excerpts = collect(lambda: run.again(segments), lambda: ExcerptCollector(named)).excerpts if segments else ()
    return pd.DataFrame([excerpt_columns(run, excerpt) for excerpt in excerpts], columns=TOP_EXAMPLES.names)
