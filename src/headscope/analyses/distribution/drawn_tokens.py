"""What is read of rows that are drawn: the tokens around them, and the key that they look at most."""

import torch
from torch import Tensor

from headscope.analyses.distribution.kept_rows import PADDING
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import SegmentInfo

_WEIGHTS_AT_ONCE = 1 << 22


def ids_around(info: SegmentInfo, item: Tensor, at: Tensor, *, before: int, after: int) -> Tensor:
    """Return the ids of tokens and of those on either side, `[token, before + 1 + after]`.

    Args:
        info: the axis that they are on.
        item, at: which of the batch, and which position on the axis, `[token]`.
        before, after: how many; `PADDING` stands beyond the ends of an input.
    """
    around = at[:, None] + torch.arange(-before, after + 1, device=at.device)
    inside = around.clamp(0, info.ids.shape[1] - 1)
    there = (around == inside) & info.valid[item[:, None], inside]
    return torch.where(there, info.ids[item[:, None], inside], PADDING)


def strongest_keys(
    tile: AttentionTile, item: Tensor, head: Tensor, at: Tensor, *, keys: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the largest weight of each row, and on which key of the axis it lies: the leftmost; `[row]` both.

    Args:
        tile: the tile.
        item, head, at: which of the batch, head and row of the tile, `[row]`.
        keys: which keys are asked about, `[batch, key]` bool.
    """
    weights, places = [], []
    step = max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])
    for begin in range(0, len(item), step):
        own = tuple(each[begin : begin + step] for each in (item, head, at))
        lines = tile.weights[own].masked_fill(~keys[own[0]], -1.0)
        place = lines.argmax(-1)
        weights.append(lines.gather(1, place[:, None])[:, 0])
        places.append(place)
    return torch.cat(weights), torch.cat(places)
