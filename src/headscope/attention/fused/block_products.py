"""A layer that is computed block by block: the parts of its scores, the matrix products over them, and its results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.attention.fused.blocks import Block

_ALIGNED = 16


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """Return the precision in which scores, softmax and statistics are computed: float32 for half precision."""
    return torch.promote_types(dtype, torch.float32)


def widened(part: Tensor) -> Tensor:
    """Return a part of a tensor in the precision of the computation; half precision is copied part by part."""
    exact = computed_in(part.dtype)
    return part if part.dtype == exact else part.to(exact, memory_format=torch.contiguous_format)


class CarriedColumns:
    """Return values with additional columns, so that one product sums all of them.

    Args:
        value: values from the model, `[batch, group, key, width]`.
        extra: additional columns, in the precision of the computation, `[batch, group, key, column]`.

    Attributes:
        number: number of columns, including those of the values and the padding.
    """

    def __init__(self, value: Tensor, extra: Sequence[Tensor]) -> None:
        self._columns = value, *extra
        width = sum(each.shape[3] for each in self._columns)
        self.number = width + -width % _ALIGNED
        # Values in half precision are widened part by part, so that no copy is as large as a layer.
        self._whole = aligned(self._columns) if value.dtype == computed_in(value.dtype) else None

    def __call__(self, *part: slice) -> Tensor:
        """Return the columns of some keys."""
        if self._whole is not None:
            return self._whole[part]
        return aligned([widened(each[part]) for each in self._columns])


def aligned(columns: Sequence[Tensor]) -> Tensor:
    """Concatenate columns `[batch, head, key, column]`, and pad them with zeros to a multiple of 16.

    Products with fewer columns take up to three times as long on processors that compute 16 columns at a time.
    """
    width = sum(each.shape[3] for each in columns)
    first = columns[0]
    return torch.cat([*columns, first.new_zeros((*first.shape[:3], -width % _ALIGNED))], dim=3)


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
        # Products of strided keys are slow, and every block needs one.
        self._query, self._key = query, key.contiguous()
        self._memory = query.new_empty(self.most, dtype=self.dtype)

    def __call__(self, block: Block) -> Tensor:
        """Return the scores of a block, `[item, head, row, key]`; the next call overwrites them."""
        query = widened(self._query[block.items, block.heads, block.rows])
        key = widened(self._key[block.items, block.groups, block.keys])
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


@dataclass(frozen=True)
class FusedResult:
    """The result of a fused call.

    Attributes:
        output: `[batch, row, head, width]`, as attention functions return it.
        statistics: row statistics, `[batch, head, row, ROW_STATISTICS]`, or None where they were not requested.
        weights: `[batch, head, row, key]`, or None where they were not requested.
        norm_statistics: like `statistics`, of the norm-weighted attention, where the norms of the keys were passed.
        sink: the weight of the learned sink, `[batch, head, row]`, or None where there is none.
    """

    output: Tensor
    statistics: Tensor | None
    weights: Tensor | None
    norm_statistics: Tensor | None = None
    sink: Tensor | None = None


@dataclass(frozen=True, eq=False)
class FusedLayer:
    """A layer cut into blocks, and the memory of its results.

    Attributes:
        blocks: all blocks of the layer.
        scores_of: computes the scores of a block.
        value: `[batch, group, key, width]`.
        output: `[batch, row, head, width]`, to be filled.
        weights: `[batch, head, row, key]`, to be filled, or None where they are not requested.
        logits: logits of a learned sink, `[batch, head, row]`, or None if there is none.
        sunk: weight of the sink, `[batch, head, row]`, to be filled, or None if there is none.
    """

    blocks: Sequence[Block]
    scores_of: BlockScores
    value: Tensor
    output: Tensor
    weights: Tensor | None
    logits: Tensor | None
    sunk: Tensor | None
