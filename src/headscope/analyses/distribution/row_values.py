"""The measures of a tile's rows, and the rows that are counted."""

import torch
from torch import Tensor

from headscope.attention.row_quantities import RowQuantity
from headscope.attention.tile import AttentionTile

_SINKS = [RowQuantity.CLS, RowQuantity.SEP, RowQuantity.SINK_LOGIT]


def content_rows(tile: AttentionTile) -> Tensor:
    """Mark the rows of a tile that are neither padding nor special tokens, `[batch, row]` bool."""
    return tile.queries.content[:, tile.rows]


def row_values(tile: AttentionTile) -> dict[str, Tensor]:
    """Return each measure of every row by its name, `[batch, head, row]` float64; arbitrary in padding.

    `output_norm` is left out if the layer's output projection is unknown, `distance` if rows and keys are different
    tokens.
    """
    values: dict[str, Tensor] = {}
    if tile.written is not None:
        values["output_norm"] = tile.written.outputs.double()
    values["non_sink"] = non_sink_attention(tile)
    values["entropy"] = tile.statistics[..., RowQuantity.ENTROPY].double()
    if tile.square:
        values["distance"] = _distances(tile)
    return values


def non_sink_attention(tile: AttentionTile) -> Tensor:
    """Return the non-sink attention of every row, `[batch, head, row]` float64."""
    return 1.0 - tile.statistics[..., _SINKS].double().sum(-1)


def _distances(tile: AttentionTile) -> Tensor:
    weights = tile.weights
    rows = torch.arange(tile.rows.start, tile.rows.stop, device=weights.device)
    keys = torch.arange(weights.shape[-1], device=weights.device)
    apart = (rows[:, None] - keys).abs().to(weights.dtype)
    # Padding on the left moves rows and keys by the same number.
    return torch.einsum("bhrk,rk->bhr", weights, apart).double()
