"""The role of each head: the first behaviour that holds (the one place where roles are defined)."""

from typing import Any

import numpy as np
import pandas as pd

from headscope.statistics.significance import SIGNIFICANT

ROLES = ("punctuation", "sep", "cls", "broad", "previous", "next", "mixed")

# In order: statistic that must exceed the threshold. The thresholds are those of the paper's figure 6:
# 0.6 on a special token, 0.5 on a position, and 3.8 nats of the ln 128 that uniform attention would have.
_SHARES = {"punctuation": 0.6, "sep": 0.6, "cls": 0.6}
BROAD_RATIO = 0.783
_POSITIONS = {"previous": 0.5, "next": 0.5}


def role_of(values: dict[str, float], *, uniform_entropy: float) -> str:
    """Name the first behaviour that holds for a head.

    Args:
        values: its statistics by name; a missing or NaN one holds nothing.
        uniform_entropy: entropy of uniform attention over the same visible keys, nats.
    """
    for role, threshold in _SHARES.items():
        if values.get(role, np.nan) > threshold:
            return role
    if uniform_entropy > 0 and values.get("entropy", np.nan) / uniform_entropy > BROAD_RATIO:
        return "broad"
    for role, threshold in _POSITIONS.items():
        if values.get(role, np.nan) > threshold:
            return role
    return "mixed"


def roles(surface: pd.DataFrame) -> pd.DataFrame:
    """Give every head its role.

    Args:
        surface: the table `surface.parquet`.

    Returns:
        Columns `kind layer head role`, in the order of the table.
    """
    heads = surface[surface["head"].notna()]
    values = heads.pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    entropies = heads[heads["statistic"] == "entropy"].set_index(["kind", "layer", "head"])
    uniform: dict[Any, float] = entropies["uniform"].to_dict()
    named = [
        role_of({str(name): float(v) for name, v in row.items()}, uniform_entropy=uniform[index])
        for index, row in values.iterrows()
        if index in uniform
    ]
    table = values.index[values.index.isin(list(uniform))].to_frame(index=False)
    return table.assign(role=named).astype({"layer": "int64", "head": "int64"})


def finds(
    dependency_best: pd.DataFrame | None, coreference: pd.DataFrame | None
) -> dict[tuple[str, int, int], list[str]]:
    """List what each head finds: relations, and coreference, at which it is held-out best and beats its baseline.

    To beat means that the choice beats every baseline with q < 0.05, and the head that is named lies above its own.

    Args:
        dependency_best: the table `dependency_best.parquet`, or None.
        coreference: the table `coreference.parquet`, or None.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are left out.
    """
    found: dict[tuple[str, int, int], list[str]] = {}
    for table in (dependency_best, coreference):
        if table is None or table.empty:
            continue
        own = table[
            (table["model"] == "trained")
            & (table["selection"] == "held-out")
            & (table["q_value"] < SIGNIFICANT)
        ]
        for row in own.to_dict("records"):
            if row.get("margin", 1.0) > 0:
                head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
                found.setdefault(head, []).append(str(row.get("relation", "coreference")))
    return found


def strongest(surface: pd.DataFrame, named: pd.DataFrame) -> pd.DataFrame:
    """For each kind and role but `mixed`, the head that shows it most clearly.

    Returns:
        Columns `kind layer head role statistic value`: for `broad` the head of the highest entropy, else the
        highest share of attention.
    """
    heads = surface[surface["head"].notna()].merge(named, on=["kind", "layer", "head"])
    rows = []
    for kind in heads["kind"].unique():
        for role in (*_POSITIONS, "cls", "sep", "punctuation", "broad"):
            statistic = "entropy" if role == "broad" else role
            own = heads[(heads["kind"] == kind) & (heads["role"] == role) & (heads["statistic"] == statistic)]
            if len(own):
                rows.append(
                    own.loc[own["value"].idxmax(), ["kind", "layer", "head", "role", "statistic", "value"]]
                )
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "role", "statistic", "value"]).reset_index(
        drop=True
    )
