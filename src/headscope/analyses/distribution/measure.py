"""The stage of distributions over rows: a scan of the text, and its tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from headscope.analyses.distribution.accumulator import DistributionAccumulator, DistributionResult
from headscope.analyses.distribution.decile_examples import examples_table
from headscope.analyses.distribution.deciles import DECILES, decile_interval
from headscope.analyses.distribution.example_accumulator import ExampleAccumulator
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.analyses.distribution.tables import DISTRIBUTION
from headscope.analyses.stage_result import StageResult
from headscope.prepare.prepared_run import Run, Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text


def measure_distribution(run: Run, watch: Watcher | None = None) -> StageResult:
    """Measure the distribution of every head over its rows.

    Args:
        run: a `ModelRun` over text, or a `MapsRun`.
        watch: told of progress.
    """
    sums, examples = scan_distribution(run, watch)
    counted = sums.compute()
    return StageResult(
        name="distribution",
        tables={
            "distribution": distribution_table(counted),
            "distribution_examples": examples_table(run, examples.compute(), counted),
        },
        state=sums.state(),
    )


def scan_distribution(
    run: Stream, watch: Watcher | None = None
) -> tuple[DistributionAccumulator, ExampleAccumulator]:
    """Count the text's rows, and sample some of every strength."""
    sums, examples = distribution_sums(run)
    read_text(run, [sums, examples], stage="distribution", said="rows of heads", watch=watch)
    return sums, examples


def distribution_sums(run: Stream) -> tuple[DistributionAccumulator, ExampleAccumulator]:
    """Return the accumulators of the text."""
    return DistributionAccumulator(run.layout), ExampleAccumulator(run.layout, seed=run.options.seed)


def distribution_table(results: Sequence[DistributionResult]) -> pd.DataFrame:
    """Return results as `distribution.parquet`: a row for each head, measure and decile, 1-based."""
    tables = [pd.DataFrame(columns=DISTRIBUTION.names)] if not results else []
    tables += [_table(result, at, name) for result in results for at, name in enumerate(MEASURES)]
    return pd.concat(tables, ignore_index=True)


def _table(result: DistributionResult, at: int, name: str) -> pd.DataFrame:
    counts = result.counts[:, :, :, at]
    interval = decile_interval(counts, result.values(at), documents=result.documents)
    layer, head, decile = (index.reshape(-1) for index in np.indices(interval.value.shape))
    return pd.DataFrame(
        {
            "kind": result.kind,
            "layer": layer + 1,
            "head": head + 1,
            "measure": name,
            "decile": np.array(DECILES)[decile],
            "value": interval.value.reshape(-1),
            "ci_low": interval.low.reshape(-1),
            "ci_high": interval.high.reshape(-1),
            "n": counts.sum((0, 3), dtype=np.int64).reshape(-1)[layer * interval.value.shape[1] + head],
        }
    )
