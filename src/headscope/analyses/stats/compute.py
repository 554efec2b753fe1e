"""The statistics stage: statistics of every head in text (section 3), and example sentences for figures of heads."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.measurement import Measurement, StageResult, notes_on, notes_on_left_out
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.analyses.stats.tables import STATS, STATS_DIFFERENCES
from headscope.scans.examples.collector import ExampleCollector, examples_table
from headscope.scans.examples.example_tables import TOP_EXAMPLES, example_tokens
from headscope.scans.examples.excerpts import ExcerptCollector, inputs_to_read
from headscope.scans.examples.top_examples import TopExampleAccumulator
from headscope.scans.passes import collect
from headscope.scans.prepare.prepared_run import Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import difference_interval, ends_of
from headscope.statistics.inference.derived import HeadMeans
from headscope.statistics.roles import roles
from headscope.statistics.statistic_catalog import NAMES, STATISTICS
from headscope.statistics.tables.frames import WEIGHT, head_table, interval_arrays, of_measure

_WITHIN_LAYER = tuple((statistic.name, statistic.less) for statistic in STATISTICS.values() if statistic.less)
_RANKED = tuple(statistic.name for statistic in STATISTICS.values() if statistic.ranked)


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
        left_out = notes_on_left_out(rows_left_out, "norm-weighted statistics")
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
    return pd.DataFrame(
        [excerpt.as_row(*run.excerpt_words(excerpt)) for excerpt in excerpts], columns=TOP_EXAMPLES.names
    )


def stats_table(results: Sequence[HeadMeans]) -> pd.DataFrame:
    """Return statistics as `stats.parquet`: a row for each head, measure and statistic.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A value that cannot occur
    is NaN with `n_inputs` = 0; bounds are NaN where there are fewer than 10 documents. Layers without norm-weighted
    attention have no rows of that measure.
    """
    tables = []
    for means in results:
        columns = {**interval_arrays(means.values), "uniform": means.uniform[:, None], "n_inputs": means.n}
        table = head_table(columns, {"statistic": NAMES}, mean_last=True, kind=means.kind, measure=means.measure)
        measured = np.any(means.n, axis=(1, 2))[table["layer"].to_numpy() - 1]
        tables.append(table[measured | (means.measure == WEIGHT)])
    whole: pd.DataFrame = pd.concat(tables, ignore_index=True)
    return whole[STATS.names]


def stats_differences(sums: StatsAccumulator) -> pd.DataFrame:
    """Return `stats_differences.parquet`: differences of two numbers, with their intervals.

    For each layer, averaged over heads (`head` null): attention to sep from sep minus that from other tokens, and
    entropy from cls minus that from all tokens. For each kind: the share of the head with the largest share on the
    previous and on the next token, minus that of its nearest rival. The rival is the head whose difference has the
    lowest lower end: if that is above 0, the first head is above every other (rank verification, Hung and Fithian
    2019).
    """
    stacked = sums.sums.stacked()
    rows: list[dict[str, Any]] = []
    for part in sums.layout:
        table, counts = stacked[f"weight.{part.kind}"][:, :, :-1], stacked[f"n_weight.{part.kind}"]
        possible = stacked[f"weight.{part.kind}"][:, :, -1].sum(0) > 0
        every = (*_within(table, counts, possible), *_ranked(table, counts, possible))
        rows += [{"kind": part.kind, **comparison} for comparison in every]
    return STATS_DIFFERENCES.frame(rows)


def _within(table: NDArray[np.float64], counts: NDArray[Any], possible: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield differences of two statistics in each layer, averaged over heads."""
    mean = table.mean(2)
    for statistic, than_statistic in _WITHIN_LAYER:
        a, b = (NAMES.index(name) for name in (statistic, than_statistic))
        gap = difference_interval(mean[..., a], counts[:, None, a], mean[..., b], counts[:, None, b])
        for layer in np.flatnonzero(possible[:, a] & possible[:, b]).tolist():
            yield {
                "layer": layer + 1,
                "statistic": statistic,
                "than_layer": layer + 1,
                "than_statistic": than_statistic,
                **ends_of(gap, layer, "difference"),
                "n_inputs": int(min(counts[:, a].sum(), counts[:, b].sum())),
            }


def _ranked(table: NDArray[np.float64], counts: NDArray[Any], possible: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield the difference between the head with the largest share and its nearest rival."""
    heads = table.shape[2]
    flat = table.reshape(len(table), -1, table.shape[3])
    for name in _RANKED:
        column = NAMES.index(name)
        number = counts[:, column]
        if not possible[:, column].any() or flat.shape[1] < 2:
            continue
        first = int(flat[:, :, column].sum(0).argmax())
        others = np.delete(np.arange(flat.shape[1]), first)
        first_sums = np.broadcast_to(flat[:, [first], column], (len(flat), len(others)))
        gap = difference_interval(first_sums, number[:, None], flat[:, others, column], number[:, None])
        ends = gap.value if np.isnan(gap.low).all() else gap.low
        nearest = int(ends.argmin())
        yield {
            "layer": first // heads + 1,
            "head": first % heads + 1,
            "statistic": name,
            "than_layer": int(others[nearest]) // heads + 1,
            "than_head": int(others[nearest]) % heads + 1,
            "than_statistic": name,
            **ends_of(gap, nearest, "difference"),
            "n_inputs": int(number.sum()),
        }
