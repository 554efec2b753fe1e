"""The share of each head's weight that is not on the sink, for `study.heads`."""

from collections.abc import Callable

import pandas as pd

from headscope.analyses.norms.activity import SINK_STATISTICS

_HEAD = ["kind", "layer", "head"]


def non_sink(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the share of each head's weight that is not on the first token, separators, or a learned sink.

    Args:
        read: function that returns a table by its name, None if the run has no such table.

    Returns:
        The column `non_sink` by kind, layer and head.
    """
    stats = read("stats")
    if stats is None:
        return None
    rows = stats[stats["head"].notna() & (stats["measure"] == "weight") & stats["statistic"].isin(SINK_STATISTICS)]
    if rows.empty:
        return None
    rows = rows.astype({"layer": "int64", "head": "int64"})
    return pd.DataFrame({"non_sink": 1 - rows.groupby(_HEAD)["value"].sum()})
