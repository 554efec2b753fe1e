"""How a layer is cut into blocks of rows and keys, and the keys that a block has to read."""

from collections.abc import Callable, Iterator
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


@dataclass(frozen=True)
class BlockSize:
    """Limits on the size of blocks.

    Attributes:
        scores: maximum number of scores of a block, unless that leaves too few rows.
        few: minimum number of rows over all heads of a group: a product of fewer rows is slow.
        low: maximum number of rows under a mask that hides different keys from each row: the fewer rows, the fewer
            masked scores are computed.
    """

    scores: int
    few: int
    low: int


# 2 MiB of float32, and as much of their exponentials, stay in cache; smaller blocks cost more in calls than they save.
CPU_BLOCK = BlockSize(scores=1 << 19, few=32, low=64)


ACCELERATOR_BLOCK = BlockSize(scores=1 << 26, few=128, low=1024)


@dataclass(frozen=True)
class Block:
    """A part of a layer that is computed at once.

    Attributes:
        items, heads, groups, rows: slices of the batch, the heads, the key/value groups that they read, and the rows.
        keys: keys that at least one of the rows may see; all others are hidden from all rows.
        plain: those of the keys to which the mask adds nothing, counted from the first of `keys`.
    """

    items: slice
    heads: slice
    groups: slice
    rows: slice
    keys: slice
    plain: slice

    @property
    def scores(self) -> int:
        """Number of scores of the block."""
        number = 1
        for part in (self.items, self.heads, self.rows, self.keys):
            number *= part.stop - part.start
        return number

    @property
    def masked(self) -> tuple[slice, ...]:
        """The keys to which the mask adds something, counted from the first of the block, in up to two runs."""
        number = self.keys.stop - self.keys.start
        runs = slice(0, self.plain.start), slice(self.plain.stop, number)
        return tuple(run for run in runs if run.start < run.stop)


def cut_in_blocks(
    *, batch: int, heads: int, groups: int, rows: int, keys: int, reach: Callable[[], Reach], size: BlockSize
) -> Iterator[Block]:
    """Cut a layer into blocks of about `size.scores` scores.

    Short segments are put whole into blocks of several; a block of a long segment has some rows of some heads.

    Args:
        batch, heads, groups, rows, keys: sizes of the layer.
        reach: returns what each row sees; called only if a segment does not fit into a block.
        size: limits on the size of blocks.
    """
    if heads * rows * keys <= size.scores:
        step = size.scores // (heads * rows * keys)
        for first in range(0, batch, step):
            items = slice(first, min(first + step, batch))
            everything = slice(0, heads), slice(0, groups), slice(0, rows), slice(0, keys), slice(0, 0)
            yield Block(items, *everything)
        return
    row_reach, shared = reach(), heads // groups
    height = max(size.scores // (shared * row_reach.widest), -(-size.few // shared))
    height = min(height, rows, size.low if row_reach.varies else rows)
    parts = []
    for first in range(0, rows, height):
        rows_of_block = slice(first, min(first + height, rows))
        span, plain = row_reach.of_rows(rows_of_block)
        plain = slice(plain.start - span.start, plain.stop - span.start)
        number = (rows_of_block.stop - rows_of_block.start) * (span.stop - span.start) * shared
        step = max(1, size.scores // number)
        for group in range(0, groups, step):
            of_groups = slice(group, min(group + step, groups))
            of_heads = slice(of_groups.start * shared, of_groups.stop * shared)
            parts.append((of_heads, of_groups, rows_of_block, span, plain))
    if not row_reach.varies:  # blocks with the same keys are consecutive, so that work on the keys is done once
        parts.sort(key=lambda part: part[0].start)
    for item in range(batch):
        for part in parts:
            yield Block(slice(item, item + 1), *part)
