"""The weights next to the main diagonal of a block, read together as a strided band."""

import torch
from torch import Tensor

from headscope.attention.row_quantities import OFFSETS, RowQuantity
from headscope.attention.row_statistics import write_positions

# The main diagonal and its two neighbors.
BAND = slice(RowQuantity.PREVIOUS, RowQuantity.NEXT + 1)
BEYOND = [quantity for quantity in OFFSETS if quantity not in range(BAND.start, BAND.stop)]


def write_band(statistics: Tensor, spare: Tensor, e: Tensor, *, start: int, square: bool) -> None:
    """Write the same as `write_positions`, in a few calls per block.

    Args:
        statistics: statistics of the block's rows, to be written, `[item, head, row, ROW_STATISTICS]`.
        spare: memory of `e` with one element before it and one after it.
        e: unnormalized weights of the block, `[item, head, row, key]`, contiguous.
        start: position of the first row among the block's keys.
        square: whether queries and keys are the same tokens.
    """
    heads, rows, keys = e.shape[1:]
    if not (square and 0 <= start <= keys - rows):
        write_positions(statistics, e, start=start, square=square)
        return
    strides = heads * rows * keys, rows * keys, keys + 1, 1
    statistics[..., BAND] = spare[start:].as_strided((*e.shape[:3], 3), strides)
    if BEYOND:
        write_positions(statistics, e, start=start, square=True, quantities=BEYOND)
    if start == 0:
        statistics[:, :, 0, RowQuantity.PREVIOUS] = 0.0  # the first token has no previous token
    if start + rows == keys:
        statistics[:, :, -1, RowQuantity.NEXT] = 0.0  # the last row has no next token among the keys that it reads


def times_norms(band: Tensor, norms: Tensor, *, start: int) -> Tensor:
    """Return the band of weights times the norms of their keys, `[batch, head, row, 3]`.

    Args:
        band: band of statistics that `write_band` wrote, 0 where there is no key, `[batch, head, row, 3]`.
        norms: norms of the keys, `[batch, head, key]`.
        start: position of the first row.
    """
    rows, keys = band.shape[2], norms.shape[2]
    position = torch.arange(start, start + rows, device=norms.device)
    key = (position[:, None] + torch.arange(-1, 2, device=norms.device)).clamp(0, keys - 1)
    return band * norms[:, :, key]
