"""Rows of examples cut to the tokens with most of their head's attention, for models with many heads."""

from __future__ import annotations

from typing import Any

import numpy as np


def shortened(row: dict[str, Any], *, most: int) -> dict[str, Any]:
    """Return a row of examples cut to the `most` neighboring tokens with most of its attention; short rows stay.

    Arcs that leave this window are dropped. If the keys are other tokens than the queries, they get their own window.
    """
    sides = ["tokens"] if "keys" not in row or "predicted" in row else ["tokens", "keys"]
    tokens = [str(token) for token in row["tokens"]]
    keys = tokens if len(sides) == 1 else [str(key) for key in row["keys"]]
    if max(len(tokens), len(keys)) <= most:
        return row
    weights = np.asarray(row["weights"], dtype=np.float64).reshape(len(tokens), len(keys))
    if keys == tokens:
        starts = range(len(tokens) - most + 1)
        first = max(starts, key=lambda at: float(weights[at : at + most, at : at + most].sum()))
        rows = columns = slice(first, first + most)
    else:
        rows, columns = (_heaviest(weights.sum(1 - axis), most) for axis in (0, 1))
    cut: dict[str, Any] = {"tokens": tokens[rows], "weights": weights[rows, columns].reshape(-1)}
    if len(sides) > 1:
        return {**row, **cut, "keys": keys[columns]}
    ends = [[int(position) - rows.start for position in row[name]] for name in ("queries", "keys", "predicted")]
    inside = [position for position, arc in enumerate(zip(*ends, strict=True)) if all(0 <= at < most for at in arc)]
    return {**row, **cut} | {
        name: [positions[position] for position in inside]
        for name, positions in zip(("queries", "keys", "predicted"), ends, strict=True)
    }


def _heaviest(line: np.ndarray, most: int) -> slice:
    """Return the window of a line of numbers with the largest sum."""
    first = max(range(max(1, len(line) - most + 1)), key=lambda at: float(line[at : at + most].sum()))
    return slice(first, first + most)
