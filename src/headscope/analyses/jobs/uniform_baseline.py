"""The keys that a row can attend to, by sort, and the share of each sort under uniform attention."""

from collections.abc import Callable, Sequence

import torch

from headscope.attention.tile import AttentionTile
from headscope.encoding.vocabulary import KeyClass
from headscope.statistics.sums import row_selection

SORTS = ("same id", "after copy", "key period or comma", "key other punctuation")
"""Sorts of keys: other tokens of the row's id, tokens right after an earlier one of them, periods and commas, other
punctuation. Rows differ in how many keys of each sort they can attend to."""
_WEIGHTS_AT_ONCE = 1 << 22
Sorts = Callable[[AttentionTile, torch.Tensor, torch.Tensor], Sequence[torch.Tensor]]
"""From a tile, items of the batch and rows of the tile, `[row]`, which keys are of each sort, `[row, key]` bool."""


def uniform_baseline(tile: AttentionTile, item: torch.Tensor, at: torch.Tensor, sorts: Sorts) -> torch.Tensor:
    """Return the share of each sort among the non-sink keys that a row can attend to, `[row, sort]`.

    Args:
        tile: the tile.
        item, at: index in the batch, and of the row in the tile, `[row]`.
        sorts: which keys are of each sort.
    """
    height, keys, shares = tile.weights.shape[2], tile.keys, []
    numbers, back = item * height + at, None
    if not row_selection.waits(item.device):
        numbers, back = torch.unique(numbers, return_inverse=True)  # the heads of a layer share their rows
    step = max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])
    for begin in range(0, len(numbers), step):
        few = numbers[begin : begin + step]
        items, positions = few // height, few % height
        visible = tile.visibility.visible[items, positions] & keys.content[items]
        counts = torch.stack([(sort & visible).sum(1) for sort in sorts(tile, items, positions)], dim=1)
        shares.append(counts / visible.sum(1, keepdim=True).clamp(min=1))
    joined = torch.cat(shares)
    return joined if back is None else joined[back]


def sorts_of_keys(tile: AttentionTile, items: torch.Tensor, positions: torch.Tensor) -> list[torch.Tensor]:
    """Return which keys are of each of `SORTS`."""
    keys = tile.keys
    classes = keys.classes[items]
    punctuation = [classes == KeyClass.PERIOD_COMMA, classes == KeyClass.OTHER_PUNCTUATION]
    if not tile.square:
        return [torch.zeros_like(punctuation[0])] * 2 + punctuation
    rows = positions + tile.start
    same = keys.ids[items] == tile.queries.ids[items, rows][:, None]
    same &= torch.arange(same.shape[1], device=rows.device) != rows[:, None]
    return [same, behind_copies(tile, items, rows), *punctuation]


def behind_copies(tile: AttentionTile, item: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Return which keys stand right after an earlier copy of a row's token, `[row, key]`, in square tiles."""
    queries = tile.queries
    copies = (queries.ids[item] == queries.ids[item, row][:, None]) & queries.valid[item]
    behind = torch.zeros_like(copies)
    behind[:, 1:] = copies[:, :-1]
    return behind & (torch.arange(behind.shape[1], device=row.device) < row[:, None])
