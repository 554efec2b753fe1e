"""Checks of attention rows: finite numbers during a pass, and distributions in given arrays.

The tolerance of a sum follows from the rounding of weights. A weight w stored with p bits is off by at most w 2^-p, so
the sum of a row by at most 2^-p, however long it is: 2^-11 for float16, and 2^-8 / 2 for bfloat16, the coarsest type
that a model computes in. Twice the latter allows three roundings: by the model, by joining the pieces of a word and by
storing the maps. Weights below the normal range of float16 are rounded to multiples of 2^-24: 2^-25 more per key.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.head_id import head_label
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.row_quantities import OF_ALL_WEIGHTS
from headscope.attention.tile import AttentionTile
from headscope.errors import AttentionError

_ROUNDING = 2.0**-8
_ROUNDING_OF_THE_SMALLEST = 2.0**-25


class FiniteChecks:
    """Sums of a batch's rows, checked together when the batch ends: separate checks would each wait for the device."""

    def __init__(self) -> None:
        self._held: list[_Rows] = []
        self._totals: OnHost | None = None

    def add(self, tile: AttentionTile) -> None:
        """Keep the row sums of a tile's weights, and of its gradient if it has one; the tile's tensors are not kept."""
        if tile.effects is not None and tile.given_weights is None:
            return  # a source that changes heads checks the losses itself, and gives nothing else
        bare = replace(tile, given_weights=None, given_statistics=None, given_gradient=None)
        statistics = tile.given_statistics
        rows = tile.weights.sum(-1) if statistics is None else statistics[..., OF_ALL_WEIGHTS].sum(-1)
        self._hold(bare, rows, of_gradient=False)
        if tile.given_gradient is not None:
            self._hold(bare, tile.given_gradient.sum(-1), of_gradient=True)

    def _hold(self, tile: AttentionTile, rows: Tensor, *, of_gradient: bool) -> None:
        self._held.append(_Rows(tile, rows, rows.sum().float(), of_gradient))

    def hand_over(self, copy: HostCopy) -> None:
        """Add the sums to the tensors that are copied to the host."""
        if self._held:
            self._totals = copy.add(torch.stack([each.total for each in self._held]))

    def look(self) -> None:
        """Raise an error for the first tile with a NaN or an infinite number in a valid row, and release all sums.

        Raises:
            AttentionError: a number is not finite; names layer, head and document.
        """
        waiting, totals = self._held, self._totals
        self._held, self._totals = [], None
        if totals is None or np.isfinite(totals.array).all():
            return
        for each in waiting:
            position = _first_wrong(each.tile, each.rows)
            if position is not None:
                raise AttentionError(_said(each.tile, *position, of_gradient=each.of_gradient))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Sums over the keys of a tile, `[batch, head, row]`, their total, and the tile without its numbers."""

    tile: AttentionTile
    rows: Tensor
    total: Tensor
    of_gradient: bool


def _said(tile: AttentionTile, item: int, head: int, row: int, *, of_gradient: bool) -> str:
    who = f"{tile.kind} head {head_label(tile.layer + 1, head + 1)}"
    where = f"segment {tile.queries.indices[item] + 1} of document {tile.queries.documents[item]}"
    if of_gradient:
        return (
            f"{who} has a gradient that is NaN or infinite, in {where}; the loss or the weights overflow: try "
            "--dtype float32, and check the checkpoint"
        )
    return (
        f"{who} has attention that is NaN or infinite, at token {tile.start + row + 1} of {where}; the weights or the "
        "input overflow: try --dtype float32, and check the checkpoint"
    )


def _first_wrong(tile: AttentionTile, rows: Tensor) -> tuple[int, int, int] | None:
    """Return the first (item, head, row) whose sum, of `[batch, head, row]`, is not finite; padding is ignored."""
    bad = ~torch.isfinite(rows) & tile.row_valid[:, None]
    if not bad.any():
        return None
    item, head, row = (int(i) for i in bad.nonzero()[0])
    return item, head, row


@dataclass(frozen=True)
class WrongRow:
    """A row that is not a distribution.

    Attributes:
        index: 0-based position of the row in the array, `(..., query)`.
        what: error in the row and expected value, to follow "row 3".
    """

    index: tuple[int, ...]
    what: str


def sum_tolerance(keys: int) -> float:
    """Return the tolerance of the sum of a row of `keys` weights, as a distance from 1."""
    return _ROUNDING + keys * _ROUNDING_OF_THE_SMALLEST


def wrong_row(
    weights: NDArray[np.float32], *, hidden: NDArray[np.float32] | None = None, partly: bool = False
) -> WrongRow | None:
    """Return the first row that is not a distribution over its visible keys, or None.

    Right rows take two or three passes over the weights, each as fast as memory; only wrong rows are searched.

    Args:
        weights: weights after the softmax, `[..., query, key]`.
        hidden: 1 for the keys that are hidden from a row, else 0, `[query, key]`; None if no key is hidden.
        partly: whether a row may sum to less than 1, for example because tokens were cut out of it.
    """
    *_, rows, keys = weights.shape
    if not weights.size:
        return None
    allowed = sum_tolerance(keys)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = (weights.reshape(-1, keys) @ np.ones(keys, dtype=np.float32)).reshape(weights.shape[:-1])
        most, least = float(sums.max()), float(sums.min())
        # Comparisons are written so that NaN is wrong. No weight exceeds 1 if none is negative and the sums are right.
        right = bool(weights.min() >= 0) and most <= 1 + allowed and (partly or least >= 1 - allowed)
        if right and hidden is not None:
            right = not (weights.reshape(-1, rows * keys) @ hidden.reshape(-1)).any()
        return None if right else _first(weights, sums, hidden, allowed=allowed, partly=partly)


def _first(
    weights: NDArray[np.float32],
    sums: NDArray[np.float32],
    hidden: NDArray[np.float32] | None,
    *,
    allowed: float,
    partly: bool,
) -> WrongRow:
    outside = ~((weights >= 0) & (weights <= 1 + allowed))
    weight_on_hidden = (weights != 0) & (hidden != 0) if hidden is not None else np.zeros_like(outside)
    too_far = (sums > 1 + allowed) if partly else ~(np.abs(sums - 1) <= allowed)
    wrong = outside.any(-1) | weight_on_hidden.any(-1) | too_far
    index = tuple(int(at) for at in np.argwhere(wrong)[0])
    if outside[index].any():
        value = float(weights[index][outside[index]][0])
        return WrongRow(index, f"holds {value:.4g}; expected weights between 0 and 1")
    if weight_on_hidden[index].any():
        key = int(np.flatnonzero(weight_on_hidden[index])[0])
        value = float(weights[index][key])
        return WrongRow(index, f"holds {value:.4g} for key {key + 1}, which is masked; expected 0")
    at_most = " at most" if partly else ""
    return WrongRow(index, f"sums to {float(sums[index]):.4g}; expected 1{at_most}")
