"""Matrix products over the blocks of a layer, in memory that every block reuses."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headscope.attention.fused.block_parts import WidenedParts, computed_in
from headscope.attention.fused.blocks import Block


class BlockScores:
    """Computes the scores of block after block in the same memory.

    Args:
        query, key, mask, bias, scaling: the arguments of `fused_attention`.
        blocks: all blocks, which determine the size of the memory.

    Attributes:
        most: the number of scores of the largest block.
        dtype: dtype of the scores.
    """

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        *,
        mask: Tensor | None,
        bias: Tensor | None,
        scaling: float,
        blocks: Sequence[Block],
    ) -> None:
        self.mask, self.bias, self.scaling = mask, bias, scaling
        self.most = max(block.scores for block in blocks)
        self.dtype = computed_in(query.dtype)
        self._queries, self._keys = WidenedParts(query), WidenedParts(key, contiguous=True)
        self._memory = query.new_empty(self.most, dtype=self.dtype)

    def __call__(self, block: Block) -> Tensor:
        """Return the scores of a block, `[item, head, row, key]`; the next call overwrites them."""
        query = self._queries(block.items, block.heads, block.rows)
        key = self._keys(block.items, block.groups, block.keys)
        scores = self._memory[: block.scores].view(*query.shape[:3], key.shape[2])
        _multiply(query, key.transpose(2, 3), out=scores, factor=self.scaling)
        if self.bias is not None:
            scores += _part(self.bias, block)
        if self.mask is not None and block.masked:
            added = _part(self.mask, block)
            for run in block.masked:
                scores[..., run] += added[..., run]
        return scores


def _part(added: Tensor, block: Block) -> Tensor:
    """Return the part of a mask or bias that belongs to a block; axes of size 1 are broadcast."""
    places = block.items, block.heads, block.rows, block.keys
    return added[tuple(slice(None) if n == 1 else part for n, part in zip(added.shape, places, strict=True))]


def emptied(weights: Tensor, block: Block) -> Tensor:
    """Return the view that receives a block's weights; the weights on keys outside of the block are set to 0."""
    rows = weights[block.items, block.heads, block.rows]
    rows[..., : block.keys.start] = 0.0
    rows[..., block.keys.stop :] = 0.0
    return rows[..., block.keys]


def store(target: Tensor, left: Tensor, right: Tensor) -> None:
    """Write the product of a block's weights and the columns at its keys into `target`, `[item, head, row, column]`."""
    if target.is_contiguous() and target.dtype == left.dtype:
        _multiply(left, right, out=target)
    else:
        result = left.new_empty(target.shape)
        _multiply(left, right, out=result)
        target.copy_(result)


def underflow(dtype: torch.dtype) -> tuple[float, float]:
    """Return the lowest score whose exp is not denormal, and a weight just above its exp, below which weights are 0."""
    lowest = float(math.ceil(math.log(torch.finfo(dtype).tiny)))
    return lowest, 1.01 * math.exp(lowest)


def _multiply(left: Tensor, right: Tensor, *, out: Tensor, factor: float = 1.0) -> None:
    """Multiply `[batch, head, row, a]` by `[batch, group, a, b]`, where heads of a group share the right side."""
    batch, heads, rows, inner = left.shape
    groups = right.shape[1]
    # The rows of the heads of a group are stacked, so that the shared side is not copied.
    shape = (batch * groups, heads // groups * rows)
    result = out.view(*shape, out.shape[3])
    torch.baddbmm(
        result,
        left.reshape(*shape, inner),
        right.reshape(batch * groups, *right.shape[2:]),
        beta=0,
        alpha=factor,
        out=result,
    )
