"""Attention and gradients that are no numbers: the first stops the pass, and the error says where it was."""

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
    """Sums of a batch's rows, looked at together when the batch ends: to look at each would wait for the device."""

    def __init__(self) -> None:
        self._held: list[_Rows] = []
        self._totals: OnHost | None = None

    def add(self, tile: AttentionTile) -> None:
        """Take a tile's rows of weights, and of the gradient where it has one; the tile itself is not kept."""
        if tile.effects is not None and tile.given_weights is None:
            return  # who changes heads looks at the losses, and gives nothing else
        bare = replace(tile, given_weights=None, given_statistics=None, given_gradient=None)
        statistics = tile.given_statistics
        rows = tile.weights.sum(-1) if statistics is None else statistics[..., OF_ALL_WEIGHTS].sum(-1)
        self._hold(bare, rows, of_gradient=False)
        if tile.given_gradient is not None:
            self._hold(bare, tile.given_gradient.sum(-1), of_gradient=True)

    def _hold(self, tile: AttentionTile, rows: Tensor, *, of_gradient: bool) -> None:
        self._held.append(_Rows(tile, rows, rows.sum().float(), of_gradient))

    def hand_over(self, copy: HostCopy) -> None:
        """Have the sums copied with what else is."""
        if self._held:
            self._totals = copy.add(torch.stack([each.total for each in self._held]))

    def look(self) -> None:
        """Stop at the first tile that has a NaN or an infinite number in a row that counts, and let go of all.

        Raises:
            AttentionError: names layer, head and document.
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
    """Sums over keys of a tile without its numbers, `[batch, head, row]`, and the sum of them."""

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
    """Return the first (item, head, row) whose sum, of `[batch, head, row]`, is none; padding counts nowhere."""
    bad = ~torch.isfinite(rows) & tile.row_valid[:, None]
    if not bad.any():
        return None
    item, head, row = (int(i) for i in bad.nonzero()[0])
    return item, head, row
