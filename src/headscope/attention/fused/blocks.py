"""How a layer is cut into blocks of scores that stay in cache, each with the keys that its rows can see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headscope.attention.fused.reach import Reach


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
