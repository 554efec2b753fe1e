"""What a row could look at: which keys are of which sort, and what share of them chance would give."""

from collections.abc import Callable, Sequence

import torch

from headscope.analyses.distribution.row_values import content_tokens
from headscope.attention.tile import AttentionTile
from headscope.encoding.vocabulary import KeyClass

SORTS = ("same id", "after copy", "key punctuation", "key other punctuation")
"""Sorts of keys of which a row has more or fewer to look at: other tokens of its id, those right behind an earlier one,
periods and commas, other punctuation."""
_WEIGHTS_AT_ONCE = 1 << 22
Sorts = Callable[[AttentionTile, torch.Tensor, torch.Tensor], Sequence[torch.Tensor]]
"""From a tile, items of the batch and rows of the tile, `[row]`, which keys are of each sort, `[row, key]` bool."""


def uniform_baseline(tile: AttentionTile, item: torch.Tensor, at: torch.Tensor, sorts: Sorts) -> torch.Tensor:
    """Return the share of each sort among the keys off the sink that a row might look at, `[row, sort]`.

    Args:
        tile: the tile.
        item, at: which of the batch, and which row of the tile, `[row]`.
        sorts: which keys are of each sort.
    """
    height, keys = tile.weights.shape[2], tile.keys
    # The heads of a layer share their rows.
    numbers, back = torch.unique(item * height + at, return_inverse=True)
    shares = []
    for own in numbers.split(max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])):
        items, places = own // height, own % height
        seen = tile.visibility.visible[items, places] & content_tokens(keys)[items]
        counts = torch.stack([(sort & seen).sum(1) for sort in sorts(tile, items, places)], dim=1)
        shares.append(counts / seen.sum(1, keepdim=True).clamp(min=1))
    return torch.cat(shares)[back]


def sorts_of_keys(tile: AttentionTile, items: torch.Tensor, places: torch.Tensor) -> list[torch.Tensor]:
    """Return which keys are of each of `SORTS`."""
    keys = tile.keys
    classes = keys.classes[items]
    found = [classes == KeyClass.PUNCTUATION, classes == KeyClass.OTHER_PUNCTUATION]
    if not tile.square:
        return [torch.zeros_like(found[0])] * 2 + found
    rows = places + tile.start
    same = keys.ids[items] == tile.queries.ids[items, rows][:, None]
    same &= torch.arange(same.shape[1], device=rows.device) != rows[:, None]
    return [same, behind_copies(tile, items, rows), *found]


def behind_copies(tile: AttentionTile, item: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Return which keys stand right behind an earlier copy of a row's token, `[row, key]`; keys are tokens of rows."""
    queries = tile.queries
    copies = (queries.ids[item] == queries.ids[item, row][:, None]) & queries.valid[item]
    behind = torch.zeros_like(copies)
    behind[:, 1:] = copies[:, :-1]
    return behind & (torch.arange(behind.shape[1], device=row.device) < row[:, None])
