"""The roles of heads by norm-weighted attention (Kobayashi et al. 2020) and by attention weights."""

from collections.abc import Callable
from itertools import product

import pandas as pd

from headscope.statistics.measures import NORM, WEIGHT, of_measure
from headscope.statistics.role_catalog import ROLES
from headscope.statistics.roles import roles

_HEAD = ["kind", "layer", "head"]
_ENDS = {"value": "", "ci_low": "_low", "ci_high": "_high"}


def roles_by_norm(stats: pd.DataFrame) -> pd.DataFrame:
    """Return both roles of every head whose norm-weighted attention is known, by layer and head.

    Args:
        stats: the table `stats.parquet`, with both measures.

    Returns:
        Columns `kind layer head`, `role` by weights and `role_by_norm`; `statistic`, which defines `role`, or else
        `role_by_norm`, empty where neither is defined by a statistic; and its value by `weight` and by `norm`, each
        with the ends of its interval, `weight_low`, `weight_high`, `norm_low` and `norm_high`.
    """
    by_norm = of_measure(stats, NORM)
    known = by_norm.loc[by_norm["head"].notna() & (by_norm["n_inputs"] > 0), _HEAD].drop_duplicates()
    both = roles(stats).merge(roles(stats, measure=NORM), on=_HEAD, suffixes=("", "_by_norm"))
    both = both.merge(known.astype({"layer": "int64", "head": "int64"}), on=_HEAD)
    names = zip(both["role"], both["role_by_norm"], strict=True)
    both["statistic"] = [ROLES[role].statistic or ROLES[role_by_norm].statistic for role, role_by_norm in names]
    for measure, (column, ending) in product((WEIGHT, NORM), _ENDS.items()):
        values = of_measure(stats, measure).set_index([*_HEAD, "statistic"])[column].to_dict()
        cells = both[[*_HEAD, "statistic"]].itertuples(index=False, name=None)
        both[f"{measure}{ending}"] = [float(values.get(cell, float("nan"))) for cell in cells]
    return both


def norm_roles(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the role of each head by norm-weighted attention, `role.norm`, where it is known, for `study.heads`."""
    table = read("stats")
    if table is None or of_measure(table, NORM).empty:
        return None
    both = roles_by_norm(table).set_index(_HEAD)
    return both[["role_by_norm"]].rename(columns={"role_by_norm": f"role.{NORM}"})
