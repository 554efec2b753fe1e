"""Where heads lie: their places on the map, and the heads nearest to each."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.analyses.distances.pair_table import matrix_of
from headscope.reporting.kit.json_numbers import numbers
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.measured import Measured

NEAREST = 5


def map_and_nearest(run: Measured, kind: Kind) -> dict[str, Any]:
    """Return both for the cards of the heads of a kind."""
    return {"map": map_block(run, kind), "nearest": nearest_block(run, kind)}


def map_block(run: Measured, kind: Kind) -> dict[str, Any] | None:
    """Return every head's place on the map in head order, `x` and `y` in nats, and its cluster; None without a map."""
    table = run.table("head_map")
    if table is None:
        return None
    own = table[table["kind"] == kind.name]
    if own.empty:
        return None
    place = (own["layer"].to_numpy(int) - 1) * kind.heads_per_layer + own["head"].to_numpy(int) - 1
    out: dict[str, Any] = {}
    for name in ("x", "y", "cluster"):
        column = np.full(kind.size, np.nan)
        column[place] = own[name].to_numpy(dtype=np.float64, na_value=np.nan)
        out[name] = numbers(column.round(4))
    return out


def nearest_block(run: Measured, kind: Kind) -> list[list[Any]] | None:
    """Return for each head the five nearest of its kind, as [place, divergence in nats]; None without distances.

    Of equally near ones the first in head order.
    """
    pairs = run.table("head_distances")
    if pairs is None or kind.size < 2:
        return None
    names = [
        (layer, head) for layer in range(1, kind.layers + 1) for head in range(1, kind.heads_per_layer + 1)
    ]
    apart = matrix_of(pairs, names, kind=kind.name)
    np.fill_diagonal(apart, np.inf)
    apart[np.isnan(apart)] = np.inf
    if not np.isfinite(apart).any():
        return None
    order = np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]
    return [
        [[int(other), round(float(apart[own, other]), 6)] for other in line if np.isfinite(apart[own, other])]
        for own, line in enumerate(order)
    ]
