"""Attention and its row statistics in one go, without ever writing the normalised weights.

Eager attention writes the weights, and statistics then read them again several times: on a CPU that is more
memory traffic than the attention itself. Here a block of a few segments is kept in cache; the output, the
softmax's normaliser and the shares by class of key come from one matrix product, entropy and largest
weight from the softmax's own parts. A self-test compares it with the model's eager
function, call by call, before it is used: that, and no list, says which models it serves.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.row_statistics import (
    BY_CLASS,
    CLASSES,
    OFFSETS,
    ROW_STATISTICS,
    RowQuantity,
    class_indicators,
    write_positions,
)
from headscope.attention.tap import AttentionCall
from headscope.encoding.segment import SegmentInfo

# Scores of one block, in elements: 1 MiB of float32 stays in a core's second-level cache.
_CPU_BLOCK = 1 << 18
_ACCELERATOR_BLOCK = 1 << 26
# The diagonals beside the main one, and it, are read in one go.
_BAND = slice(RowQuantity.PREVIOUS, RowQuantity.NEXT + 1)
_BEYOND = [quantity for quantity in OFFSETS if quantity not in range(_BAND.start, _BAND.stop)]


@dataclass(frozen=True)
class FusedResult:
    """What one fused call gives.

    Attributes:
        output: `[batch, row, head, width]`, as attention functions return it.
        statistics: row statistics, `[batch, head, row, ROW_STATISTICS]`, or None where they were not asked for.
        weights: `[batch, head, row, key]`, or None where they were not asked for.
    """

    output: Tensor
    statistics: Tensor | None
    weights: Tensor | None


def fused_attention(
    query: Float[Tensor, "batch head row width"],
    key: Float[Tensor, "batch group key width"],
    value: Float[Tensor, "batch group key value_width"],
    *,
    mask: Float[Tensor, "#batch 1 #row key"] | None,
    scaling: float,
    keys: SegmentInfo,
    start: int,
    square: bool,
    need_weights: bool,
    need_statistics: bool = True,
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
        need_statistics: whether to return the row statistics; without them a plain softmax does.
    """
    batch, heads, rows, _ = query.shape
    groups, n_keys, width = key.shape[1], key.shape[2], value.shape[3]
    if need_weights and not need_statistics:
        return _plain(query, key, value, mask=mask, scaling=scaling)
    # Columns for the classes and for the normaliser ride along with the values.
    carrier = value.new_empty((batch, groups, n_keys, width + len(CLASSES) + 1))
    carrier[..., :width] = value
    carrier[..., width:-1] = class_indicators(keys.classes, dtype=value.dtype)[:, None]
    carrier[..., -1] = 1.0
    product = query.new_empty((batch, heads, rows, carrier.shape[3]))
    statistics = query.new_empty((batch, heads, rows, len(ROW_STATISTICS)))
    weights = query.new_empty((batch, heads, rows, n_keys)) if need_weights else None
    limit = _CPU_BLOCK if query.device.type == "cpu" else _ACCELERATOR_BLOCK
    step = max(1, limit // (heads * rows * n_keys))
    scores = query.new_empty((min(step, batch), heads, rows, n_keys))
    # One element to spare on either side lets the three diagonals be read as one strided band.
    spare = query.new_empty(scores.numel() + 2)
    exponentials = spare[1:-1].view(scores.shape)
    whole = square and start == 0 and rows == n_keys
    band = spare.as_strided(
        (scores.shape[0], heads, rows, 3), (heads * rows * n_keys, rows * n_keys, n_keys + 1, 1)
    )
    lowest, smallest = _underflow(query.dtype)
    for first in range(0, batch, step):
        block = slice(first, min(first + step, batch))
        s, e = scores[: block.stop - first], exponentials[: block.stop - first]
        _multiply(query[block], key[block].transpose(2, 3), out=s, factor=scaling)
        if mask is not None:
            s += mask if mask.shape[0] == 1 else mask[block]
        s -= s.amax(-1, keepdim=True)
        if mask is not None:
            # 0 times the mask's huge number must stay 0; and an exp that underflows takes 60 times as long.
            s.clamp_(min=lowest)
        torch.exp(s, out=e)
        if mask is not None:
            torch.threshold_(e, smallest, 0.0)
        _multiply(e, carrier[block], out=product[block])
        if whole:
            statistics[block][..., _BAND] = band[: len(e)]
            if _BEYOND:
                write_positions(statistics[block], e, start=start, square=square, quantities=_BEYOND)
        else:
            write_positions(statistics[block], e, start=start, square=square)
        torch.sum(s.mul_(e), dim=-1, out=statistics[block][..., RowQuantity.ENTROPY])
        if weights is not None:
            torch.div(e, product[block][..., -1:], out=weights[block])
    if whole:  # the first token has no previous, the last no next
        statistics[:, :, 0, RowQuantity.PREVIOUS] = 0.0
        statistics[:, :, -1, RowQuantity.NEXT] = 0.0
    inverse = product[..., -1].reciprocal()
    statistics[..., BY_CLASS] = product[..., width:-1]
    statistics[..., : RowQuantity.MAX_WEIGHT] *= inverse[..., None]
    # The column holds (sum e s) / z; together with ln z = -ln(1 / z) it becomes the entropy.
    entropy = statistics[..., RowQuantity.ENTROPY]
    entropy += torch.log(inverse)
    entropy.neg_()
    statistics[..., RowQuantity.MAX_WEIGHT] = inverse
    output = query.new_empty((batch, rows, heads, width))
    torch.mul(product[..., :width], inverse[..., None], out=output.transpose(1, 2))
    return FusedResult(output=output, statistics=statistics, weights=weights)


def _plain(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, scaling: float) -> FusedResult:
    """Attention and its weights, without statistics."""
    batch, heads, rows, _ = query.shape
    scores = query.new_empty((batch, heads, rows, key.shape[2]))
    _multiply(query, key.transpose(2, 3), out=scores, factor=scaling)
    if mask is not None:
        scores += mask
    weights = torch.softmax(scores, dim=-1)
    output = query.new_empty((batch, heads, rows, value.shape[3]))
    _multiply(weights, value, out=output)
    return FusedResult(output=output.transpose(1, 2).contiguous(), statistics=None, weights=weights)


def _underflow(dtype: torch.dtype) -> tuple[float, float]:
    """Return a score whose exp is the least that is not denormal, and a weight just above that: it counts as 0."""
    lowest = float(math.ceil(math.log(torch.finfo(dtype).tiny)))
    return lowest, 1.01 * math.exp(lowest)


def _multiply(left: Tensor, right: Tensor, *, out: Tensor, factor: float = 1.0) -> None:
    """Multiply `[batch, head, row, a]` by `[batch, group, a, b]`, where heads of a group share the right side."""
    batch, heads, rows, inner = left.shape
    groups = right.shape[1]
    # Rows of the heads of one group are stacked, so that the shared side is not copied.
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


def fusible(call: AttentionCall) -> bool:
    """Whether a call is plain scaled attention in a precision that the fused path computes in."""
    special = ("softcap", "position_bias", "s_aux", "sinks")
    return (
        call.query.dtype in (torch.float32, torch.float64)
        and (
            call.mask is None
            or (call.mask.is_floating_point() and call.mask.ndim == 4 and call.mask.shape[1] == 1)
        )
        and all(call.options.get(name) is None for name in special)
    )
