"""Build the tidy table of statistics."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from headscope.analyses.stats.tables import STATS
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.measures import WEIGHT
from headscope.statistics.statistic_catalog import NAMES
from headscope.statistics.tables.head_table import head_table, interval_arrays


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
