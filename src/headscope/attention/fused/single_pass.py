"""Attention and its row statistics in a single pass that never writes the normalized weights.

Eager attention writes the weights, and the statistics then read them several times: on a CPU that is more memory
traffic than the attention itself. This module keeps a block of a few segments, or of a few rows, in cache. The output,
the normalizer of the softmax and the shares by class of key come from a single matrix product; the entropy and the
largest weight come from intermediate values of the softmax. A self-test compares the result with the model's eager
function, call by call, before it is used. The self-test, not a list, decides which models use this path.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.entropy import finish_entropy
from headscope.attention.fused.block_products import BlockScores, aligned, emptied, store, underflow
from headscope.attention.fused.blocks import ACCELERATOR_BLOCK, CPU_BLOCK, BlockSize, cut_in_blocks
from headscope.attention.fused.norms import FusedNorms
from headscope.attention.fused.reach import Reach, reach_of
from headscope.attention.model.learned_sink import known_sink
from headscope.attention.model.tap import AttentionCall
from headscope.attention.row_quantities import BY_CLASS, CLASSES, OFFSETS, ROW_STATISTICS, RowQuantity
from headscope.attention.row_statistics import class_indicators, write_positions
from headscope.encoding.segment import SegmentInfo

# The main diagonal and the two beside it are read together, as a strided band.
_BAND = slice(RowQuantity.PREVIOUS, RowQuantity.NEXT + 1)
_BEYOND = [quantity for quantity in OFFSETS if quantity not in range(_BAND.start, _BAND.stop)]


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
    bias: Float[Tensor, "#batch #head #row key"] | None = None,
    sink: Float[Tensor, "#batch head #row"] | None = None,
    reach: Callable[[], Reach] | None = None,
    norms: Float[Tensor, "batch head key"] | None = None,
    size: BlockSize | None = None,
) -> FusedResult:
    """Compute softmax(scaling q k' + bias + mask) v, and the statistics of every row, in blocks of segments or rows.

    With s the scores less their row maximum, e = exp s and z = sum e: the weights are e / z, the largest
    is 1 / z, and the entropy -sum (e/z) ln(e/z) = ln z - (sum e s) / z, nats. A learned sink is one more score, with
    nothing at its key.

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
        bias: what is added for the position, `[batch or 1, head or 1, row or 1, key]`, or None.
        sink: logits of a learned sink, `[batch or 1, head, row or 1]`, or None.
        reach: gives what `reach_of` reads from the mask, where that has been read before.
        norms: how long what each head writes of each key is (`written.key_norms`), for the statistics of that.
        size: how large blocks are; what fits into the cache by default.
    """
    batch, heads, rows, _ = query.shape
    groups, n_keys, width = key.shape[1], key.shape[2], value.shape[3]
    if size is None:
        size = CPU_BLOCK if query.device.type == "cpu" else ACCELERATOR_BLOCK
    blocks = list(
        cut_in_blocks(
            batch=batch,
            heads=heads,
            groups=groups,
            rows=rows,
            keys=n_keys,
            reach=reach or partial(reach_of, mask, n_keys),
            size=size,
        )
    )
    scores_of = BlockScores(query, key, mask=mask, bias=bias, scaling=scaling, blocks=blocks)
    weights = query.new_empty((batch, heads, rows, n_keys)) if need_weights else None
    output = query.new_empty((batch, rows, heads, width))
    # Of each row: the sink's score less the largest and its exponential, then its weight.
    logits = None if sink is None else sink.to(query.dtype).expand(batch, heads, rows)
    sunk = None if sink is None else query.new_empty((batch, heads, rows))
    if weights is not None and not need_statistics:
        for block in blocks:
            s = scores_of(block)
            part = torch.softmax(s, dim=-1)
            if logits is not None and sunk is not None:
                rows_of_block = block.items, block.heads, block.rows
                apart = logits[rows_of_block] - torch.logsumexp(s, dim=-1)
                sunk[rows_of_block] = torch.sigmoid(apart)
                part *= torch.sigmoid(-apart)[..., None]
            emptied(weights, block).copy_(part)
            store(
                output.transpose(1, 2)[block.items, block.heads, block.rows],
                part,
                value[block.items, block.groups, block.keys],
            )
        return FusedResult(output=output, statistics=None, weights=weights, sink=sunk)
    statistics = query.new_empty((batch, heads, rows, len(ROW_STATISTICS)))
    # A spare element on either side allows reading the three diagonals as a strided band.
    spare = query.new_empty(scores_of.most + 2)
    lowest, smallest = underflow(query.dtype)
    written = (
        None
        if norms is None
        else FusedNorms(
            norms.to(query.dtype), keys.classes, rows=rows, most=scores_of.most, start=start, square=square
        )
    )
    # Columns for the classes and for the normalizer ride along with the values, and those of what is written.
    classes = class_indicators(keys.classes, dtype=value.dtype)[:, None].expand(batch, groups, n_keys, -1)
    total = width + len(CLASSES)
    riders = [value, classes, value.new_ones((batch, groups, n_keys, 1))]
    separate = None
    if written is not None and groups == heads:
        riders.append(written.columns)
    elif written is not None:  # heads that share values do not share what they write of them
        separate = aligned([written.columns])
    carrier = aligned(riders)
    product = query.new_empty((batch, heads, rows, carrier.shape[3]))
    sums = product[..., total + 1 :]
    if separate is not None:
        sums = query.new_empty((batch, heads, rows, separate.shape[3]))
    for block in blocks:
        s = scores_of(block)
        e = spare[1 : 1 + s.numel()].view(s.shape)
        rows_of_block = block.items, block.heads, block.rows
        statistics_of_block = statistics[rows_of_block]
        most = s.amax(-1, keepdim=True)
        if logits is not None:
            most = torch.maximum(most, logits[rows_of_block][..., None])
        s -= most
        # Without the clamp, 0 times the mask's huge number is not 0, and an exp that underflows takes 60 times as long.
        if masked := mask is not None:
            for run in block.masked:
                s[..., run].clamp_(min=lowest)
        torch.exp(s, out=e)
        if masked:
            for run in block.masked:
                torch.threshold_(e[..., run], smallest, 0.0)
        store(product[rows_of_block], e, carrier[block.items, block.groups, block.keys])
        if separate is not None:
            store(sums[rows_of_block], e, separate[block.items, block.heads, block.keys])
        if written is not None:
            written.weigh(block, e)
        if square and s.shape[2:] == (n_keys, n_keys):
            square_size = n_keys * n_keys
            strides = s.shape[1] * square_size, square_size, n_keys + 1, 1
            statistics_of_block[..., _BAND] = spare.as_strided((*s.shape[:3], 3), strides)
            if _BEYOND:
                write_positions(statistics_of_block, e, start=0, square=square, quantities=_BEYOND)
            statistics_of_block[:, :, 0, RowQuantity.PREVIOUS] = 0.0  # the first token has no previous
            statistics_of_block[:, :, -1, RowQuantity.NEXT] = 0.0  # the last no next
        else:
            write_positions(
                statistics_of_block, e, start=start + block.rows.start - block.keys.start, square=square
            )
        torch.sum(s.mul_(e), dim=-1, out=statistics_of_block[..., RowQuantity.ENTROPY])
        if written is not None:
            written.weigh_logarithms(block, s)
        if logits is not None and sunk is not None:
            apart = (logits[rows_of_block] - most[..., 0]).clamp_(min=lowest)
            sunk[rows_of_block] = torch.exp(apart)
            product[rows_of_block][..., total] += sunk[rows_of_block]
            statistics_of_block[..., RowQuantity.ENTROPY] += apart * sunk[rows_of_block]
        if weights is not None:
            torch.div(e, product[rows_of_block][..., total : total + 1], out=emptied(weights, block))
    inverse = product[..., total].reciprocal()
    statistics[..., BY_CLASS] = product[..., width:total]
    statistics[..., : RowQuantity.MAX_WEIGHT] *= inverse[..., None]
    # The column holds (sum e s) / z, and s is ln e.
    finish_entropy(statistics[..., RowQuantity.ENTROPY], torch.log(inverse).neg_())
    statistics[..., RowQuantity.MAX_WEIGHT] = inverse
    if sunk is not None:
        sunk *= inverse
    statistics[..., RowQuantity.SINK_LOGIT] = 0.0 if sunk is None else sunk
    torch.mul(product[..., :width], inverse[..., None], out=output.transpose(1, 2))
    if written is not None:
        written.finish(sums)
    return FusedResult(
        output=output,
        statistics=statistics,
        weights=weights,
        sink=sunk,
        norm_statistics=None if written is None else written.statistics,
    )


def fusible(call: AttentionCall) -> bool:
    """Whether a call is plain scaled attention in a precision that the fused path computes in."""
    bias, heads = call.options.get("position_bias"), call.query.shape[1]
    return (
        call.query.dtype in (torch.float32, torch.float64)
        and (
            call.mask is None
            or (call.mask.is_floating_point() and call.mask.ndim == 4 and call.mask.shape[1] == 1)
        )
        and (bias is None or (isinstance(bias, Tensor) and bias.ndim == 4 and bias.shape[1] in (1, heads)))
        and call.options.get("softcap") is None
        and known_sink(call)
    )
