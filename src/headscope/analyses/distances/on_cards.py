"""Distances on the cards of the atlas: coordinates on the map, nearest heads, and all pairs."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.pairs import matrix_of
from headscope.report_kit.kinds import Kind
from headscope.study.study import Study

NEAREST = 5
MOST_IN_PAIRS = 512
DIGITS = 6
UNKNOWN = 65535
"""The value that marks a pair that was not measured."""


def map_and_nearest(run: Study, kind: Kind) -> dict[str, Any]:
    """Return map, nearest heads and all pairs for the cards of the heads of a kind."""
    apart = _matrix(run, kind)
    return {
        "map": map_block(run, kind),
        "nearest": None if apart is None else nearest_block(apart),
        # With more heads, only the nearest are on the cards; all pairs are in the table.
        "apart": None if apart is None or kind.size > MOST_IN_PAIRS else apart_block(apart),
    }


def map_block(run: Study, kind: Kind) -> dict[str, Any] | None:
    """Return the `x` and `y` of every head on the map, in nats, and its cluster, in head order; None without a map.

    Coordinates have six significant digits, because heads of a random model lie a millionth of a nat apart.
    """
    table = run.tables.get("head_map")
    if table is None or not (table["kind"] == kind.name).any():
        return None
    return {name: [_short(value) for value in kind.in_head_order(table, name)] for name in ("x", "y", "cluster")}


def nearest_block(apart: NDArray[np.float64]) -> list[list[Any]]:
    """Return for each head the five nearest of its kind, as [index, divergence in nats].

    Equally near heads come in head order.

    Args:
        apart: divergences in nats, `[head, head]`, NaN where none was measured.
    """
    others = np.where(np.isnan(apart), np.inf, apart)
    np.fill_diagonal(others, np.inf)
    order = np.argsort(others, axis=1, kind="stable")[:, :NEAREST]
    return [
        [[int(other), _short(others[head, other])] for other in line if np.isfinite(others[head, other])]
        for head, line in enumerate(order)
    ]


def apart_block(apart: NDArray[np.float64]) -> dict[str, Any]:
    """Return the divergence of every pair: `step` in nats, and `bytes`, the steps, two bytes per pair in base64.

    Pairs come row by row above the diagonal; `UNKNOWN` marks a pair that was not measured.
    """
    pairs = apart[np.triu_indices(len(apart), k=1)]
    step = float(np.nanmax(pairs)) / (UNKNOWN - 1) or 1.0
    steps = np.where(np.isnan(pairs), UNKNOWN, np.rint(np.clip(pairs, 0, None) / step))
    return {"step": step, "bytes": base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii")}


def _matrix(run: Study, kind: Kind) -> NDArray[np.float64] | None:
    """Return the divergences, `[head, head]`; None where no pair was measured."""
    pairs = run.tables.get("head_distances")
    if pairs is None or kind.size < 2:
        return None
    names = [(layer, head) for layer in range(1, kind.layers + 1) for head in range(1, kind.heads_per_layer + 1)]
    apart = matrix_of(pairs, names, kind=kind.name)
    return apart if np.isfinite(apart[np.triu_indices(len(apart), k=1)]).any() else None


def _short(value: float) -> float | int | None:
    """Return a number with six digits, a whole one without a point, null for NaN."""
    if np.isnan(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) else short
