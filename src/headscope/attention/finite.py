"""Attention and gradients that are no numbers: the first stops the pass, and the error says where it was."""

import torch
from torch import Tensor

from headscope.attention.row_statistics import OF_ALL_WEIGHTS
from headscope.attention.tile import AttentionTile
from headscope.errors import AttentionError


def check_finite(tile: AttentionTile) -> None:
    """Stop at the first tile that has a NaN or an infinite weight in a row that counts.

    Raises:
        AttentionError: names layer, head and document.
    """
    given = tile.given_statistics
    place = _first_wrong(tile, tile.weights.sum(-1) if given is None else given[..., OF_ALL_WEIGHTS].sum(-1))
    if place is not None:
        item, head, row = place
        raise AttentionError(
            f"{tile.kind} head {tile.layer + 1}-{head + 1} has attention that is NaN or infinite, at token "
            f"{tile.start + row + 1} of segment {tile.queries.indices[item] + 1} of document "
            f"{tile.queries.documents[item]}; the weights or the input overflow: try --dtype float32, and check "
            "the checkpoint"
        )


def check_gradient(tile: AttentionTile) -> None:
    """Stop at a gradient that is NaN or infinite in a row that counts.

    Raises:
        AttentionError: names layer, head and document.
    """
    place = _first_wrong(tile, tile.gradient.sum(-1))
    if place is not None:
        item, head, _ = place
        raise AttentionError(
            f"{tile.kind} head {tile.layer + 1}-{head + 1} has a gradient that is NaN or infinite, in segment "
            f"{tile.queries.indices[item] + 1} of document {tile.queries.documents[item]}; the loss or the weights "
            "overflow: try --dtype float32, and check the checkpoint"
        )


def _first_wrong(tile: AttentionTile, rows: Tensor) -> tuple[int, int, int] | None:
    """Return the first (item, head, row) whose sum, of `[batch, head, row]`, is none; padding counts nowhere."""
    if torch.isfinite(rows.sum()):
        return None
    bad = ~torch.isfinite(rows) & tile.row_valid[:, None]
    if not bad.any():
        return None
    item, head, row = (int(i) for i in bad.nonzero()[0])
    return item, head, row
