"""Which keys a block of rows has to read: of later tokens, or those outside a window, nothing is computed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Of the mask, so many elements are looked at in one go: what is made of them stays in cache.
_BLOCK = 1 << 19


@dataclass(frozen=True, eq=False)
class Reach:
    """How far rows see, whatever the segment of the batch. A mask that is the same for all rows has one entry.

    Attributes:
        first, stop: keys before `first` and from `stop` on are hidden from the row in every segment, `[row or 1]`.
        plain_first, plain_stop: between them the mask adds nothing in any segment, `[row or 1]`; empty where
            `plain_first` is not the smaller.
        keys: how many keys there are.
    """

    first: NDArray[np.int64]
    stop: NDArray[np.int64]
    plain_first: NDArray[np.int64]
    plain_stop: NDArray[np.int64]
    keys: int

    @property
    def widest(self) -> int:
        """The largest number of keys that a row reads."""
        return max(1, int((self.stop - self.first).max()))

    @property
    def varies(self) -> bool:
        """Whether rows differ in what they see, so that low blocks of rows read less."""
        return bool((self.first != self.first[0]).any() or (self.stop != self.stop[0]).any())

    def part(self, rows: slice) -> "Reach":
        """Return the reach of some rows alone, counted from the first of them."""
        if len(self.first) == 1:
            return self
        return Reach(self.first[rows], self.stop[rows], self.plain_first[rows], self.plain_stop[rows], self.keys)

    def of_rows(self, rows: slice) -> tuple[slice, slice]:
        """Return the keys that some rows read, and which of these the mask does not touch (all within the first)."""
        entries = rows if len(self.first) > 1 else slice(None)
        first, stop = int(self.first[entries].min()), int(self.stop[entries].max())
        if first >= stop:  # rows of padding that see nothing: any keys will do
            return slice(0, self.keys), slice(0, 0)
        plain = slice(int(self.plain_first[entries].max()), int(self.plain_stop[entries].min()))
        return slice(first, stop), plain if plain.start < plain.stop else slice(first, first)


def reach_of(mask: Tensor | None, keys: int) -> Reach:
    """Read how far each row sees from an additive mask.

    Args:
        mask: `[batch or 1, 1, row or 1, key]`, 0 or very negative (or anything else, which is then added wherever it
            is); None where nothing is hidden.
        keys: how many keys there are.
    """
    if mask is None:
        none, every = np.zeros(1, dtype=np.int64), np.full(1, keys, dtype=np.int64)
        return Reach(none, every, none, every, keys)
    batch, _, rows, _ = mask.shape
    lowest = torch.finfo(mask.dtype).min / 2
    ends = np.empty((4, rows), dtype=np.int64)
    height = max(1, _BLOCK // (batch * keys))
    for start in range(0, rows, height):
        part = mask[:, 0, start : start + height]
        visible = part > lowest
        number, nothing = (_count(each).cpu().numpy() for each in (visible, part == 0))
        visible_array = visible.cpu().numpy()
        first = np.where(number > 0, visible_array.argmax(-1), keys)
        stop = np.where(number > 0, keys - np.ascontiguousarray(visible_array[..., ::-1]).argmax(-1), 0)
        # Nothing is added where a row sees all between its ends, and the mask is 0 there.
        plain = (number == stop - first) & (nothing == number)
        chunk = slice(start, start + height)
        ends[0, chunk], ends[1, chunk] = first.min(0), stop.max(0)
        ends[2, chunk] = np.where(plain, first, keys).max(0)
        ends[3, chunk] = np.where(plain, stop, 0).min(0)
    return Reach(ends[0], ends[1], ends[2], ends[3], keys)


def _count(marks: Tensor) -> Tensor:
    """Count the marks of each row; as bytes this takes half the time."""
    return marks.view(torch.uint8).sum(-1, dtype=torch.int32)
