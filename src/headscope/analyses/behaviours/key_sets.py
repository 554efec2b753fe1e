"""Which keys each behaviour is about, for the rows of a tile: sums of weight on them, and what uniform attention gives.

Keys whose id is that of the row are few, so they are kept as pairs of row and key, and weights are gathered there; all
else follows from sums over rows, and from diagonals.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.analyses.behaviours.catalogue import BEHAVIOURS, NAMES
from headscope.attention.tile import AttentionTile
from headscope.encoding.vocabulary import KeyClass

LOCAL = (-3, -2, -1, 1, 2, 3)
_COLUMN = {name: NAMES.index(name) for name in NAMES}
_OF_CLASS = [(_COLUMN[one.name], int(one.delimiter)) for one in BEHAVIOURS.values() if one.delimiter]
# So many weights are gathered at once: text of one token alone has a pair for every weight.
_GATHERED = 1 << 22


@dataclass(frozen=True)
class Pairs:
    """Pairs of a row and a key, in ascending order: `item` of the batch, `row` from the tile's first, `key`."""

    item: Tensor
    row: Tensor
    key: Tensor

    def where(self, chosen: Tensor) -> "Pairs":
        """Return some of them, `[pair]` bool."""
        return Pairs(self.item[chosen], self.row[chosen], self.key[chosen])

    def sums(self, weights: Tensor) -> Tensor:
        """Sum weights `[batch, head, row, key]` over the pairs of each segment, `[batch, head]` float64."""
        out = weights.new_zeros(weights.shape[:2], dtype=torch.float64)
        step = max(1, _GATHERED // weights.shape[1])
        for first in range(0, len(self.item), step):
            own = slice(first, first + step)
            at = weights[self.item[own], :, self.row[own], self.key[own]]
            out.index_add_(0, self.item[own], at.double())
        return out

    def number(self, visible: Tensor) -> Tensor:
        """Count the pairs of each row whose key is visible, `[batch, row]` float64."""
        out = torch.zeros(visible.shape[:2], dtype=torch.float64, device=visible.device)
        seen = visible[self.item, self.row, self.key].double()
        return out.index_put_((self.item, self.row), seen, accumulate=True)


class KeySets:
    """The keys of every behaviour for some rows of one kind of attention.

    Args:
        tile: any of the layers; only its tokens and the place of its rows are read.
        counted: which of the rows are asked, `[batch, row]` bool.
        delimiters: `Delimiter` of each token id, `[id]`.
        same_ids: whether equal ids are equal tokens; else `duplicate` and `induction` cannot occur.
    """

    def __init__(self, tile: AttentionTile, counted: Tensor, delimiters: Tensor, *, same_ids: bool) -> None:
        self.square, self.start, self.counted = tile.square, tile.start, counted
        keys = tile.keys
        self.first = keys.valid.long().argmax(1)  # padding may stand on the left
        known = keys.ids < len(delimiters)
        found = delimiters[torch.where(known, keys.ids, 0)] * known * keys.valid
        self.classes = torch.stack([found == code for _, code in _OF_CLASS], dim=-1).double()
        self.keys, self.rows = keys.valid.shape[1], counted.shape[1]
        self.pairs: dict[str, Pairs] = {}
        if self.square and same_ids:
            self._find_copies(tile)

    def _find_copies(self, tile: AttentionTile) -> None:
        """Find earlier keys with the row's id, and those right behind one; the row's own place is neither."""
        ids, valid = tile.queries.ids, tile.queries.valid
        row_class = tile.row_classes
        asked = self.counted & (row_class != KeyClass.SEP)
        # Where no token is a cls of its own, the first one has its class: nothing stands before that.
        asked &= row_class != KeyClass.CLS
        at = torch.arange(self.keys, device=ids.device)
        earlier = at[None, :] < at[tile.rows][:, None]
        same = (ids[:, tile.rows, None] == ids[:, None, :]) & earlier & valid[:, None] & asked[:, :, None]
        copies = Pairs(*same.nonzero(as_tuple=True))
        behind = copies.where(copies.key + 1 < copies.row + self.start)
        self.pairs = {"duplicate": copies, "induction": Pairs(behind.item, behind.row, behind.key + 1)}

    def sums(self, weights: Tensor) -> Tensor:
        """Sum over the counted rows the weight on each behaviour's keys, `[batch, head, NAMES]` float64.

        Weights on keys that a row does not see are 0, so that they need not be told apart.
        """
        # Rows of padding may hold anything, also NaN.
        own = torch.where(self.counted[:, None, :, None], weights, 0.0)
        batch, heads = own.shape[:2]
        out = own.new_zeros((batch, heads, len(NAMES)), dtype=torch.float64)
        by_key = own.new_empty((batch, heads, self.keys), dtype=torch.float64)
        for item in range(batch):  # one segment at a time: a float64 copy is made
            exact = own[item].double()
            by_key[item] = exact.sum(1)
            if self.square:
                out[item, :, _COLUMN["distance"]] = exact.flatten(1) @ self.apart.flatten()
        place = self.first[:, None, None].expand(-1, heads, 1)
        out[..., _COLUMN["first"]] = by_key.gather(2, place)[..., 0]
        for column, values in zip(_OF_CLASS, (by_key @ self.classes).unbind(-1)):
            out[..., column[0]] = values
        if not self.square:
            return out
        for offset in LOCAL:
            weight = own.diagonal(self.start + offset, -2, -1).sum(-1, dtype=torch.float64)
            out[..., _COLUMN["local"]] += weight
            if offset == -1:
                out[..., _COLUMN["previous"]] = weight
        for name, pairs in self.pairs.items():
            out[..., _COLUMN[name]] = pairs.sums(own)
        return out

    def uniform(self, tile: AttentionTile) -> tuple[Tensor, Tensor]:
        """Return what uniform attention over the visible keys sums to, and in how many rows each behaviour can occur.

        Returns:
            `[batch, NAMES]` float64, and `[batch, NAMES]` int64.
        """
        visible = tile.visibility.visible
        number = torch.zeros((*visible.shape[:2], len(NAMES)), dtype=torch.float64, device=visible.device)
        place = self.first[:, None, None].expand(-1, self.rows, 1)
        number[..., _COLUMN["first"]] = visible.gather(2, place)[..., 0].double()
        for column, values in zip(_OF_CLASS, (visible.double() @ self.classes).unbind(-1)):
            number[..., column[0]] = values
        occurs = number > 0
        if self.square:
            for offset in LOCAL:
                self._add_diagonal(number[..., _COLUMN["local"]], visible, offset)
            self._add_diagonal(number[..., _COLUMN["previous"]], visible, -1)
            for name, pairs in self.pairs.items():
                number[..., _COLUMN[name]] = pairs.number(visible)
            number[..., _COLUMN["distance"]] = (visible * self.apart).sum(-1)
            occurs = number > 0
            occurs[..., _COLUMN["distance"]] = True
        occurs &= self.counted[..., None]
        share = number / tile.visibility.counts.clamp(min=1)[..., None]
        return torch.where(occurs, share, 0.0).sum(1), occurs.sum(1)

    @cached_property
    def apart(self) -> Tensor:
        """How many tokens each key is away from each row, `[row, key]` float64."""
        at = torch.arange(self.keys, device=self.counted.device, dtype=torch.float64)
        return (at[None, :] - at[self.start : self.start + self.rows, None]).abs()

    def _add_diagonal(self, number: Tensor, visible: Tensor, offset: int) -> None:
        """Add 1 to the rows that see the key at an offset, `[batch, row]`."""
        diagonal = self.start + offset
        first, last = max(0, -diagonal), min(self.rows, self.keys - diagonal)
        if last > first:
            number[:, first:last] += visible.diagonal(diagonal, -2, -1)[:, : last - first]
