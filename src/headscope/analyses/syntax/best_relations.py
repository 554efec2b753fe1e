"""Columns of `study.heads`: the relation at which each head is the best."""

from collections.abc import Callable

import pandas as pd

from headscope.statistics.tables.frames import TOTALS

_HEAD = ["kind", "layer", "head"]


def best_relations(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the relation at which each head exceeds the best fixed offset by most, and the margin.

    Columns `best_relation`, with its direction, and `best_relation_margin`, a share; on all documents, so the best of
    many is an optimistic number: the column `finds` has the relations that are established.
    """
    heads, baselines = read("syntax"), read("syntax_baselines")
    if heads is None or baselines is None:
        return None
    offsets = baselines[baselines["baseline"] == "offset"].groupby("relation")["accuracy"].max()
    rows = heads[(heads["model"] == "trained") & ~heads["relation"].isin(TOTALS)]
    rows = rows.assign(margin=rows["accuracy"] - rows["relation"].map(offsets).astype("float64")).dropna(
        subset="margin"
    )
    if rows.empty:
        return None
    best = rows.loc[rows.groupby(_HEAD)["margin"].idxmax()].set_index(_HEAD)
    return pd.DataFrame(
        {"best_relation": best["relation"] + " " + best["direction"], "best_relation_margin": best["margin"]}
    )
