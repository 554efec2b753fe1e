"""The stage of distributions over rows: a scan of the text, and its tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distribution.examples import ExampleAccumulator, examples_table
from headscope.analyses.distribution.sums import DECILES, BinnedValues, DistributionAccumulator, DistributionResult
from headscope.analyses.distribution.tables import DISTRIBUTION, MEASURES
from headscope.analyses.measurement import Measurement, StageResult
from headscope.prepare.prepared_run import Run
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
