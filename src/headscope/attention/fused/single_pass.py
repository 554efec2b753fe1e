"""Attention and its row statistics in a single pass that never stores the normalized weights.

Eager attention stores the weights, and the statistics then read them several times: on a CPU that is more memory
traffic than the attention itself. This module keeps a block of a few segments, or of a few rows, in cache. The output,
the normalizer of the softmax and the shares by class of key come from a single matrix product; the entropy and the
largest weight come from intermediate values of the softmax. A self-test compares the result with the model's eager
function, call by call, before it is used. The self-test, not a list, decides which models use this path.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.fused.block_products import BlockScores, FusedLayer, FusedResult, emptied, store, widened
from headscope.attention.fused.blocks import ACCELERATOR_BLOCK, CPU_BLOCK, BlockSize, Reach, cut_in_blocks, reach_of
from headscope.attention.fused.statistics_pass import StatisticsPass
from headscope.attention.model.tap import AttentionCall, bias_of, known_sink, scaling_of, sink_logits
from headscope.encoding.segment import SegmentInfo


def why_not_fusible(call: AttentionCall) -> str | None:
    """Return the difference of a call from plain scaled attention, as the end of a sentence; None if there is none."""
    mask, bias, heads = call.mask, call.options.get("position_bias"), call.query.shape[1]
    if mask is not None and not (mask.is_floating_point() and mask.ndim == 4 and mask.shape[1] == 1):
        return "the mask is not added to scores, the same for all heads"
    if bias is not None and not (isinstance(bias, Tensor) and bias.ndim == 4 and bias.shape[1] in (1, heads)):
        return "the position bias is not added to scores"
    if call.options.get("softcap") is not None:
        return "scores are capped"
    if not known_sink(call):
        return "its learned sink is neither one a head nor one a row"
    return None


def fused_call(call: AttentionCall, *, rows: slice = slice(None), **how: Any) -> FusedResult:
    """Compute some rows of a call of the attention function; the other arguments are those of `fused_attention`."""
    return fused_attention(
        call.query[:, :, rows],
        call.key,
        call.value,
        mask=call.mask[:, :, rows] if call.mask is not None and call.mask.shape[2] > 1 else call.mask,
        bias=bias_of(call, rows),
        sink=sink_logits(call, rows),
        scaling=scaling_of(call),
        start=rows.start or 0,
        **how,
    )


def softmax_pass(layer: FusedLayer) -> FusedResult:
    """Compute the weights and outputs of a layer, which has memory for the weights."""
    assert layer.weights is not None
    for block in layer.blocks:
        s = layer.scores_of(block)
        part = torch.softmax(s, dim=-1)
        if layer.logits is not None and layer.sunk is not None:
            rows_of_block = block.items, block.heads, block.rows
            apart = layer.logits[rows_of_block] - torch.logsumexp(s, dim=-1)
            layer.sunk[rows_of_block] = torch.sigmoid(apart)
            part *= torch.sigmoid(-apart)[..., None]
        emptied(layer.weights, block).copy_(part)
        store(
            layer.output.transpose(1, 2)[block.items, block.heads, block.rows],
            part,
            widened(layer.value[block.items, block.groups, block.keys]),
        )
    return FusedResult(output=layer.output, statistics=None, weights=layer.weights, sink=layer.sunk)


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

    With s the scores minus their row maximum, e = exp s and z = sum e: the weights are e / z, the largest
    is 1 / z, and the entropy -sum (e/z) ln(e/z) = ln z - (sum e s) / z, nats. A learned sink is one more score, with
    nothing at its key. With queries and keys in half precision everything is computed in float32; only the output is
    rounded to the model's precision.

    Args:
        query: `[batch, head, row, width]`.
        key: `[batch, group, key, width]`; consecutive heads share a group.
        value: `[batch, group, key, value width]`.
        mask: additive mask, `[batch or 1, 1, row or 1, key]`, or None.
        scaling: factor of the scores.
        keys: the attended tokens, for their classes.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        need_weights: whether to return the weights too.
        need_statistics: whether to return the row statistics; without them a plain softmax is enough.
        bias: position bias, `[batch or 1, head or 1, row or 1, key]`, or None.
        sink: logits of a learned sink, `[batch or 1, head, row or 1]`, or None.
        reach: returns the result of `reach_of` for the mask, if the mask was read before.
        norms: norm of each head's output per key (`output_norms.key_norms`), for norm-weighted statistics.
        size: size of the blocks; what fits into the cache by default.
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
    dtype = scores_of.dtype
    layer = FusedLayer(
        blocks=blocks,
        scores_of=scores_of,
        value=value,
        output=query.new_empty((batch, rows, heads, width)),
        weights=query.new_empty((batch, heads, rows, n_keys), dtype=dtype) if need_weights else None,
        logits=None if sink is None else sink.to(dtype).expand(batch, heads, rows),
        sunk=None if sink is None else query.new_empty((batch, heads, rows), dtype=dtype),
    )
    if need_weights and not need_statistics:
        return softmax_pass(layer)
    return StatisticsPass(layer, keys=keys, start=start, square=square, masked=mask is not None, norms=norms).run()
