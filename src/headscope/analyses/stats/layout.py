"""Statistics as a tidy table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from headscope.analyses.stats.accumulator import StatsResult
from headscope.analyses.stats.tables import STATS
from headscope.statistics.measures import WEIGHT
from headscope.statistics.statistic_catalog import NAMES


def stats_table(results: Sequence[StatsResult]) -> pd.DataFrame:
    """Lay statistics out as `stats.parquet`: a row for each head, measure and statistic.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A value that cannot occur
    is NaN with `n` = 0; bounds are NaN where there are fewer than 10 documents. Layers of which nothing was measured
    have no rows.
    """
    parts = []
    for result in results:
        layers, heads, width = result.heads.value.shape
        # The layer's mean follows its heads.
        stacked = [
            np.concatenate([getattr(result.heads, name), getattr(result.layers, name)[:, None]], axis=1)
            for name in ("value", "low", "high")
        ]
        grid = np.broadcast_to(np.arange(layers)[:, None, None], stacked[0].shape)
        head = np.broadcast_to(np.append(np.arange(1, heads + 1), 0)[None, :, None], stacked[0].shape)
        names = np.broadcast_to(np.array(NAMES)[None, None], stacked[0].shape)
        measured = np.broadcast_to(result.n.any((1, 2), keepdims=True), stacked[0].shape).reshape(-1)
        flat_heads = head.reshape(-1)
        numbers = pd.Series(flat_heads, dtype="Int64").mask(flat_heads == 0)
        parts.append(
            pd.DataFrame(
                {
                    "kind": result.kind,
                    "layer": grid.reshape(-1) + 1,
                    "head": numbers,
                    "measure": result.measure,
                    "statistic": names.reshape(-1),
                    "value": stacked[0].reshape(-1),
                    "ci_low": stacked[1].reshape(-1),
                    "ci_high": stacked[2].reshape(-1),
                    "uniform": np.broadcast_to(result.uniform[:, None], stacked[0].shape).reshape(-1),
                    "n_inputs": result.n.reshape(-1),
                }
            )[measured | (result.measure == WEIGHT)]
        )
        assert width == len(NAMES)
    return pd.concat(parts, ignore_index=True)[STATS.names]
