"""Attention and its row statistics in one go, without ever writing the normalised weights.

Eager attention writes the weights, and statistics then read them again several times: on a CPU that is more
memory traffic than the attention itself. Here a block of a few segments is kept in cache; the output, the
softmax's normaliser and the shares by class of key come from one matrix product, entropy and largest
weight from the softmax's own parts. The families it serves are listed in `anatomy.FUSED_FAMILIES`; a
self-test compares it with the model's eager function before it is used.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.attention.rows import CLASSES, ROW_STATISTICS, class_indicators, write_positions
from headscope.encoding.segment import SegmentInfo

# Scores of one block, in elements: 1.5 MiB of float32 stay in a core's second-level cache.
_CPU_BLOCK = 3 << 17
_ACCELERATOR_BLOCK = 1 << 26


@dataclass(frozen=True)
class FusedResult:
    """What one fused call gives.

    Attributes:
        output: `[batch, row, head, width]`, as attention functions return it.
        statistics: row statistics, `[batch, head, row, ROW_STATISTICS]`.
        weights: `[batch, head, row, key]`, or None where they were not asked for.
    """

    output: Tensor
    statistics: Tensor
    weights: Tensor | None


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    scaling: float,
    keys: SegmentInfo,
    start: int,
    square: bool,
    need_weights: bool,
) -> FusedResult:
    """Compute softmax(scaling q k' + mask) v, and the statistics of every row, in blocks of segments.

    With s the scores less their row maximum, e = exp s and z = sum e: the weights are e / z, the largest
    is 1 / z, and the entropy -sum (e/z) ln(e/z) = ln z - (sum e s) / z, nats.

    Args:
        query: `[batch, head, row, width]`.
        key: `[batch, group, key, width]`; consecutive heads share a group.
        value: `[batch, group, key, value width]`.
        mask: additive, `[batch or 1, 1, row or 1, key]`, or None.
        scaling: factor of the scores.
        keys: the tokens attended to, for their classes.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        need_weights: whether to return the weights too.
    """
    batch, heads, rows, _ = query.shape
    groups, n_keys = key.shape[1], key.shape[2]
    width = value.shape[3]
    output = query.new_empty((batch, rows, heads, width))
    statistics = query.new_empty((batch, heads, rows, len(ROW_STATISTICS)))
    weights = query.new_empty((batch, heads, rows, n_keys)) if need_weights else None
    # Columns for the classes and for the normaliser ride along with the values.
    extra = class_indicators(keys.classes, dtype=query.dtype)
    extra = torch.cat([extra, torch.ones_like(extra[..., :1])], dim=-1)[:, None].expand(-1, groups, -1, -1)
    carrier = torch.cat([value, extra], dim=-1)
    limit = _CPU_BLOCK if query.device.type == "cpu" else _ACCELERATOR_BLOCK
    step = max(1, limit // (heads * rows * n_keys))
    keys_transposed = key.transpose(2, 3)
    for first in range(0, batch, step):
        block = slice(first, first + step)
        scores = _grouped(query[block] * scaling, keys_transposed[block])
        if mask is not None:
            scores += mask if mask.shape[0] == 1 else mask[block]
        scores -= scores.amax(-1, keepdim=True)
        if mask is not None:
            # exp is 0 there anyway, and 0 times the mask's huge number must stay 0.
            scores.clamp_(min=-800.0)
        exponentials = torch.exp(scores)
        product = _grouped(exponentials, carrier[block])
        inverse = product[..., -1:].reciprocal()
        output[block] = (product[..., :width] * inverse).transpose(1, 2)
        here = statistics[block]
        write_positions(here, exponentials, start=start, square=square)
        here[..., 3:6] = product[..., width : width + len(CLASSES)]
        here[..., 6] = scores.mul_(exponentials).sum(-1)
        here[..., 7] = 1.0
        here *= inverse
        # The column holds (sum e s) / z; together with ln z = -ln(1 / z) it becomes the entropy.
        here[..., 6] = -here[..., 6] - torch.log(inverse[..., 0])
        if weights is not None:
            torch.mul(exponentials, inverse, out=weights[block])
    return FusedResult(output=output, statistics=statistics, weights=weights)


def _grouped(left: Tensor, right: Tensor) -> Tensor:
    """Multiply `[batch, head, row, a]` by `[batch, group, a, b]`, where heads of a group share the right side."""
    heads, groups = left.shape[1], right.shape[1]
    if heads == groups:
        return torch.matmul(left, right)
    shape = left.shape
    # Rows of the heads of one group are stacked, so that the shared side is not copied.
    stacked = left.reshape(shape[0], groups, heads // groups * shape[2], shape[3])
    return torch.matmul(stacked, right).reshape(*shape[:3], right.shape[3])
