"""The keys that a block of rows has to read: nothing is computed for later tokens, or those outside a window."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Number of elements of the mask that are read at once, so that intermediate arrays stay in cache.
_BLOCK = 1 << 19


@dataclass(frozen=True, eq=False)
class Reach:
    """How far rows see, over all segments of the batch. A mask that is the same for all rows has one entry.

    Attributes:
        first, stop: keys before `first` and from `stop` on are hidden from the row in every segment, `[row or 1]`.
        plain_first, plain_stop: between these keys the mask adds nothing in any segment, `[row or 1]`; empty if
            `plain_first` is not smaller.
        keys: number of keys.
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
        """Whether rows differ in the keys that they see, so that blocks of few rows read less."""
        return bool((self.first != self.first[0]).any() or (self.stop != self.stop[0]).any())

    def part(self, rows: slice) -> "Reach":
        """Return the reach of some rows, counted from the first of them."""
        if len(self.first) == 1:
            return self
        return Reach(self.first[rows], self.stop[rows], self.plain_first[rows], self.plain_stop[rows], self.keys)

    def of_rows(self, rows: slice) -> tuple[slice, slice]:
        """Return the keys that some rows read, and the subset of them to which the mask adds nothing."""
        entries = rows if len(self.first) > 1 else slice(None)
        first, stop = int(self.first[entries].min()), int(self.stop[entries].max())
        if first >= stop:  # padding rows that see nothing may read any keys
            return slice(0, self.keys), slice(0, 0)
        plain = slice(int(self.plain_first[entries].max()), int(self.plain_stop[entries].min()))
        return slice(first, stop), plain if plain.start < plain.stop else slice(first, first)


def reach_of(mask: Tensor | None, keys: int) -> Reach:
    """Read the reach of each row from an additive mask.

    Args:
        mask: `[batch or 1, 1, row or 1, key]`, 0 or very negative (any other value is added wherever it occurs); None
            if nothing is hidden.
        keys: number of keys.
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
        # Nothing is added if a row sees all keys between its ends, and the mask is 0 there.
        plain = (number == stop - first) & (nothing == number)
        chunk = slice(start, start + height)
        ends[0, chunk], ends[1, chunk] = first.min(0), stop.max(0)
        ends[2, chunk] = np.where(plain, first, keys).max(0)
        ends[3, chunk] = np.where(plain, stop, 0).min(0)
    return Reach(ends[0], ends[1], ends[2], ends[3], keys)


def _count(marks: Tensor) -> Tensor:
    """Count the True values of each row; viewed as bytes this takes half the time."""
    return marks.view(torch.uint8).sum(-1, dtype=torch.int32)
