"""The role of each head: the first role of the catalog whose condition is true."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from headscope.statistics.inference.significance import SIGNIFICANT
from headscope.statistics.inference.worth_saying import LEAST_SHARE
from headscope.statistics.measures import WEIGHT, of_measure
from headscope.statistics.role_catalog import OTHERWISE, ROLES, SHOWN

_OF_UNIFORM = tuple(dict.fromkeys(role.statistic for role in ROLES.values() if role.of_uniform))
_HEAD = ["kind", "layer", "head"]


def role_of(values: Mapping[str, float], *, uniform: Mapping[str, float]) -> str:
    """Return the first role of the catalog that a head has.

    Args:
        values: the statistics of the head by name; a missing or NaN value has no role.
        uniform: the values of uniform attention over the same visible keys, for statistics that are compared with it.
    """
    for role in ROLES.values():
        value = values.get(role.statistic, np.nan)
        if role.of_uniform:
            even = uniform.get(role.statistic, np.nan)
            value = value / even if even > 0 else np.nan
        if role.statistic and value > role.above:
            return role.name
    return OTHERWISE


def roles(stats: pd.DataFrame, *, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the role of every head.

    Args:
        stats: the table `stats.parquet`.
        measure: `weight`, or `norm` for norm-weighted attention, which is known for some heads only.

    Returns:
        Columns `kind layer head role`, in the order of the table.
    """
    rows = of_measure(stats, measure)
    rows = rows[rows["head"].notna()]
    values: dict[tuple[str, int, int], dict[str, float]] = {}
    uniform: dict[tuple[str, int, int], dict[str, float]] = {}
    columns = (rows[name].to_list() for name in (*_HEAD, "statistic", "value", "uniform"))
    for kind, layer, number, statistic, value, even in zip(*columns, strict=True):
        head = kind, int(layer), int(number)
        values.setdefault(head, {})[statistic] = value
        uniform.setdefault(head, {})[statistic] = even
    named = [
        (*head, role_of(by_name, uniform=uniform[head]))
        for head, by_name in values.items()
        if all(name in by_name for name in _OF_UNIFORM)
    ]
    return pd.DataFrame(named, columns=[*_HEAD, "role"]).astype(
        {"kind": rows["kind"].dtype, "layer": "int64", "head": "int64"}
    )


def finds(chosen: pd.DataFrame, *, by: str = "", name: str = "") -> dict[tuple[str, int, int], list[str]]:
    """Return the items that each head finds: those for which it is selected held out and beats its baseline.

    The selection must beat every baseline with q < 0.05, and the named head must be a point above its own baseline.

    Args:
        chosen: selected heads: `model selection kind layer head q_value`, and `margin` if the head's own baseline is
            known.
        by: the column with the name of the item; empty if all rows have the same item.
        name: name of that item.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are omitted.
    """
    by_head: dict[tuple[str, int, int], list[str]] = {}
    if chosen.empty:
        return by_head
    significant = chosen[
        (chosen["model"] == "trained") & (chosen["selection"] == "held-out") & (chosen["q_value"] < SIGNIFICANT)
    ]
    for row in significant.to_dict("records"):
        if row.get("margin", 1.0) >= LEAST_SHARE:
            head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
            by_head.setdefault(head, []).append(str(row[by]) if by else name)
    return by_head


def strongest(stats: pd.DataFrame, named: pd.DataFrame) -> pd.DataFrame:
    """Return, for each kind and role but `mixed`, the head with the highest value.

    Returns:
        Columns `kind layer head role statistic value`: for each role the head with the highest value of the statistic
        that defines it.
    """
    heads = of_measure(stats)
    heads = heads[heads["head"].notna()].merge(named, on=["kind", "layer", "head"])
    rows = []
    for kind in heads["kind"].unique():
        for role in SHOWN:
            statistic = ROLES[role].statistic
            with_role = heads[(heads["kind"] == kind) & (heads["role"] == role) & (heads["statistic"] == statistic)]
            if len(with_role):
                rows.append(
                    with_role.loc[with_role["value"].idxmax(), ["kind", "layer", "head", "role", "statistic", "value"]]
                )
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "role", "statistic", "value"]).reset_index(drop=True)
