"""The stage of distributions over rows: a scan of the text, and its tables."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from headscope.analyses.distribution.deciles import DECILES, decile_interval
from headscope.analyses.distribution.examples import ExampleAccumulator, examples_table
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.analyses.distribution.sums import DistributionAccumulator, DistributionResult
from headscope.analyses.distribution.tables import DISTRIBUTION
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult
from headscope.prepare.prepared_run import Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
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
