"""Checks for NaN or infinite attention and gradients: the first one stops the pass, and the error names its place."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headscope.attention.head_id import head_label
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.row_quantities import OF_ALL_WEIGHTS
from headscope.attention.tile import AttentionTile
from headscope.errors import AttentionError


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
