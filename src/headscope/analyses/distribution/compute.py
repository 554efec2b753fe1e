"""The stage of distributions over rows: a scan of the text, its deciles, and rows of each decile as examples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distribution.examples import (
    BEFORE,
    NO_KEY,
    PADDING,
    STRENGTHS,
    ExampleAccumulator,
    ExampleResult,
)
from headscope.analyses.distribution.sums import DECILES, BinnedValues, DistributionAccumulator, DistributionResult
from headscope.analyses.distribution.tables import BINS, DISTRIBUTION, EXAMPLES, MEASURES, NAMES
from headscope.analyses.measurement import Measurement, StageResult
from headscope.scans.examples.excerpts import Excerpt, WantedExcerpt
from headscope.scans.prepare.prepared_run import Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.tables.frames import head_table, interval_arrays


class DistributionMeasurement(Measurement[Run]):
    """The distribution of every head's measures over rows."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text: counts of its rows by strength, and a sample of rows of every strength."""
        layout = self.run.layout
        examples = ExampleAccumulator(layout, seed=self.run.options.seed)
        yield Scan(RunText(self.run), [DistributionAccumulator(layout), examples], label="rows of heads")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table of deciles, and examples of them."""
        rows = sums.of(DistributionAccumulator)
        counted, examples = rows.compute(), sums.of(ExampleAccumulator).compute()
        return StageResult(
            name="distribution",
            tables={
                "distribution": distribution_table(counted),
                "distribution_examples": examples_table(self.run, examples, counted),
            },
            state=rows.state(),
        )


def distribution_table(results: Sequence[DistributionResult]) -> pd.DataFrame:
    """Return results as `distribution.parquet`: a row for each head, measure and decile, 1-based."""
    tables = [pd.DataFrame(columns=DISTRIBUTION.names)] if not results else []
    tables += [_table(result, at, name) for result in results for at, name in enumerate(MEASURES)]
    return pd.concat(tables, ignore_index=True)


def _table(result: DistributionResult, at: int, name: str) -> pd.DataFrame:
    counts = result.counts[:, :, :, at]
    interval = decile_interval(counts, result.values(at), documents=result.documents)
    columns = {**interval_arrays(interval), "n_rows": counts.sum((0, 3), dtype=np.int64)[..., None]}
    return head_table(columns, {"decile": DECILES}, kind=result.kind, measure=name)[DISTRIBUTION.names]


def decile_interval(counts: NDArray[Any], values: BinnedValues, *, documents: int) -> Interval:
    """Return the nine deciles with their intervals over documents, `[..., DECILES]`.

    The interval of a quantile is the interval of the share of rows below it, translated back to values (Woodruff 1952).
    It contains the whole bin of the quantile, because counts in bins have no finer resolution.

    Args:
        counts: number of rows in each bin by group of documents, `[group, ..., bin]`.
        values: binned values of all groups.
        documents: number of documents in the groups.
    """
    shares = np.broadcast_to(np.array(DECILES) / 10, (*values.counts.shape[:-1], len(DECILES)))
    deciles = values.quantiles(shares)
    if not len(counts):
        return Interval(deciles, np.full_like(deciles, np.nan), np.full_like(deciles, np.nan))
    first, last = values.bins(shares)
    inside = _inside(values.counts, first, shares)
    upto = counts.cumsum(-1, dtype=np.int64)
    at = np.broadcast_to(first, (len(counts), *first.shape))
    in_bin = np.take_along_axis(counts, at, axis=-1)
    below = np.take_along_axis(upto, at, axis=-1) - in_bin + inside * in_bin
    of_share = ratio_interval(below, upto[..., -1:], scale="share", documents=documents)
    low, high = (values.quantiles(end) for end in (of_share.low, of_share.high))
    least, most = np.take_along_axis(values.least, first, -1), np.take_along_axis(values.most, last, -1)
    return Interval(deciles, np.minimum(low, least), np.maximum(high, most))


def _inside(counts: NDArray[Any], bins: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the position of each quantile within its bin, from 0 to 1."""
    upto = counts.cumsum(-1)
    in_bin = np.take_along_axis(counts, bins, axis=-1)
    before = np.take_along_axis(upto, bins, axis=-1) - in_bin
    return np.asarray(np.clip((shares * upto[..., -1:] - before) / np.maximum(in_bin, 1), 0.0, 1.0))


SHOWN = 3
"""Number of rows shown of each decile of a head."""


@dataclass(frozen=True)
class DecileRow:
    """An example row of a decile of a head's rows.

    Attributes:
        layer, head, decile, rank: 1-based.
        strength: index of its measure in `STRENGTHS`.
        at: index in the result's `rows`.
    """

    layer: int
    head: int
    decile: int
    rank: int
    strength: int
    at: int


def decile_rows(examples: ExampleResult, counted: DistributionResult) -> Iterator[DecileRow]:
    """Yield the rows with the smallest hashes of each decile of a head's rows, by layer, head and decile.

    Each bin keeps its smallest hashes, so these rows are a random sample of the decile. A decile that is narrower than
    its bins may have no row in the sample; then any row of those bins is taken instead.

    Args:
        examples: the sample of rows.
        counted: the distribution over the same text.
    """
    layers, heads = counted.least.shape[:2]
    shares = np.broadcast_to(np.array(DECILES) / 10, (layers, heads, len(DECILES)))
    by_measure = [counted.values(NAMES.index(name)) for name in STRENGTHS]
    cuts_of = [values.quantiles(shares) for values in by_measure]
    bins_of = [values.bins(shares)[0] for values in by_measure]
    cells = examples.layer * heads + examples.head
    begins = np.searchsorted(cells, np.arange(layers * heads + 1))
    for head_index, (begin, end) in enumerate(pairwise(begins.tolist())):
        if begin == end:
            continue
        layer, head = divmod(head_index, heads)
        strength = int(examples.strength[begin])
        cuts = cuts_of[strength][layer, head]
        rows, bins = examples.rows[begin:end], examples.bins[begin:end]
        edges = np.concatenate([[0], bins_of[strength][layer, head], [BINS - 1]])
        decile = np.searchsorted(cuts, rows["value"], side="left")
        for number in range(len(DECILES) + 1):
            pool = np.flatnonzero(decile == number)
            if not len(pool):
                pool = np.flatnonzero((bins >= edges[number]) & (bins <= edges[number + 1]))
            first = pool[np.argsort(rows["hash"][pool], kind="stable")][:SHOWN]
            for rank, at in enumerate(first.tolist()):
                yield DecileRow(layer + 1, head + 1, number + 1, rank + 1, strength, begin + at)


def examples_table(run: Run, examples: Sequence[ExampleResult], counted: Sequence[DistributionResult]) -> pd.DataFrame:
    """Return the examples of every head with the words around them, in the columns of `distribution_examples.parquet`.

    Args:
        run: run with the tokens' texts.
        examples: the sample of each kind of attention.
        counted: the distributions over the same text, kind by kind.
    """
    rows = [
        _row(run, sample, decile_row)
        for sample, counts in zip(examples, counted, strict=True)
        for decile_row in decile_rows(sample, counts)
    ]
    return EXAMPLES.frame(rows)


def _row(run: Run, sample: ExampleResult, decile_row: DecileRow) -> dict[str, Any]:
    """Return an example row with the words around it."""
    row = sample.rows[decile_row.at]
    document, segment = sample.segments[int(row["segment"])]
    ids: NDArray[np.int64] = row["ids"].astype(np.int64)
    there = np.flatnonzero(ids != PADDING)
    positions = int(row["row"]) - BEFORE + there
    on_token = int(row["key"]) != NO_KEY
    columns, keys = (np.array([row[name]] if on_token else [], dtype=np.int64) for name in ("key", "key_id"))
    excerpt = Excerpt(
        wanted=WantedExcerpt(sample.kind, 1, 1, "", 1, 0.0, document, segment),
        rows=positions,
        columns=columns,
        queries=ids[there],
        keys=keys,
        weights=np.full((len(there), len(keys)), row["weight"], dtype=np.float32),
        start=int(positions[0]),
    )
    words, key_words, _ = run.excerpt_words(excerpt)
    return {
        **vars(decile_row),
        "kind": sample.kind,
        "measure": STRENGTHS[decile_row.strength],
        "value": float(row["value"]),
        "document": document,
        "segment": segment,
        "row": int(row["row"]),
        "key": int(row["key"]) if key_words else None,
        "weight": float(row["weight"]),
        "start": excerpt.start,
        "tokens": words,
        "continues_word": run.joined(excerpt),
        "key_token": key_words[0] if key_words else None,
    }
