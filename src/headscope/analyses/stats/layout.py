"""Statistics as a tidy table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from headscope.analyses.stats.tables import STATS
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.measures import WEIGHT
from headscope.statistics.statistic_catalog import NAMES
from headscope.statistics.tables.head_table import head_table, interval_arrays


def stats_table(results: Sequence[HeadMeans]) -> pd.DataFrame:
    """Lay statistics out as `stats.parquet`: a row for each head, measure and statistic.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A value that cannot occur
    is NaN with `n` = 0; bounds are NaN where there are fewer than 10 documents. Layers of which nothing was measured
    by the norm have no such rows.
    """
    tables = []
    for means in results:
        columns = {**interval_arrays(means.values), "uniform": means.uniform[:, None], "n_inputs": means.n}
        table = head_table(columns, {"statistic": NAMES}, mean_last=True, kind=means.kind, measure=means.measure)
        measured = np.any(means.n, axis=(1, 2))[table["layer"].to_numpy() - 1]
        tables.append(table[measured | (means.measure == WEIGHT)])
    whole: pd.DataFrame = pd.concat(tables, ignore_index=True)
    return whole[STATS.names]
