"""The tokens around sampled rows, and their strongest keys."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import SegmentInfo
from headscope.examples.excerpts import Excerpt, WantedExcerpt

PADDING, NO_KEY = -1, -1
"""The id beyond the ends of an input, and the key of a learned sink."""
_WEIGHTS_AT_ONCE = 1 << 22


def ids_around(info: SegmentInfo, item: Tensor, at: Tensor, *, before: int, after: int) -> Tensor:
    """Return the ids of tokens and of their neighbors, `[token, before + 1 + after]`.

    Args:
        info: the axis of the tokens.
        item, at: index in the batch, and position on the axis, `[token]`.
        before, after: number of neighbors; `PADDING` fills up beyond the ends of an input.
    """
    around = at[:, None] + torch.arange(-before, after + 1, device=at.device)
    inside = around.clamp(0, info.ids.shape[1] - 1)
    there = (around == inside) & info.valid[item[:, None], inside]
    return torch.where(there, info.ids[item[:, None], inside], PADDING)


def strongest_keys(
    tile: AttentionTile, item: Tensor, head: Tensor, at: Tensor, *, keys: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the largest weight of each row and the position of its key, the leftmost if several; `[row]` both.

    Args:
        tile: the tile.
        item, head, at: index in the batch, head, and row of the tile, `[row]`.
        keys: keys that count, `[batch, key]` bool.
    """
    weights, positions = [], []
    step = max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])
    for begin in range(0, len(item), step):
        chunk = tuple(each[begin : begin + step] for each in (item, head, at))
        lines = tile.weights[chunk].masked_fill(~keys[chunk[0]], -1.0)
        strongest = lines.argmax(-1)
        weights.append(lines.gather(1, strongest[:, None])[:, 0])
        positions.append(strongest)
    return torch.cat(weights), torch.cat(positions)


def excerpt_of(row: Any, wanted: WantedExcerpt, *, before: int) -> Excerpt:
    """Return the tokens around a sampled row and its key as an excerpt, to be turned into words.

    Args:
        row: with `row`, `key` (`NO_KEY` for a learned sink), `key_id`, `weight` and `ids`.
        wanted: the head and the input of the row.
        before: number of `ids` before the row's token.
    """
    ids: NDArray[np.int64] = row["ids"].astype(np.int64)
    there = np.flatnonzero(ids != PADDING)
    positions = int(row["row"]) - before + there
    on_token = int(row["key"]) != NO_KEY
    columns, keys = (np.array([row[name]] if on_token else [], dtype=np.int64) for name in ("key", "key_id"))
    return Excerpt(
        wanted=wanted,
        rows=positions,
        columns=columns,
        queries=ids[there],
        keys=keys,
        weights=np.full((len(there), len(keys)), row["weight"], dtype=np.float32),
        start=int(positions[0]),
    )
