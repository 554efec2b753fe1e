"""Check that the fused path computes a call as the model does: compare with the model's own function in float64."""

from dataclasses import replace

import torch
from torch import Tensor

from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.fused_layer import FusedResult
from headscope.attention.fused.single_pass import fused_attention, why_not_fusible
from headscope.attention.model.learned_sink import Attended, attended, sink_logits
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of
from headscope.encoding.segment import SegmentInfo

# Tolerance of a weight. Scores are rounded in proportion to their size, and a weight's error is as large as its
# score's.
_TOLERANCE = 1e-6
_ROUNDING = torch.finfo(torch.float32).eps
# So that a short input is cut into blocks of a few rows, as long inputs are.
_SMALL_BLOCK = BlockSize(scores=24, few=1, low=2)


def why_not_fused(call: AttentionCall, keys: SegmentInfo) -> str | None:
    """Return the reason against the fused path, as the end of a sentence; None if it gives the model's attention.

    Args:
        call: call of the attention function, with the model's queries and keys in the model's precision.
        keys: the attended tokens.
    """
    if (reason := why_not_fusible(call)) is not None:
        return reason
    try:
        exact = attended(replace(call, query=call.query.double(), key=call.key.double(), value=call.value.double()))
    except Exception as error:  # a model's own code may raise anything
        return f"the model's own function does not compute in float64 ({type(error).__name__})"
    allowed = _TOLERANCE + _ROUNDING * _largest_score(call)
    for size in (None, _SMALL_BLOCK):
        result = fused_attention(
            call.query,
            call.key,
            call.value,
            mask=call.mask,
            bias=bias_of(call, slice(None)),
            sink=sink_logits(call),
            scaling=scaling_of(call),
            keys=keys,
            start=0,
            square=False,
            need_weights=True,
            size=size,
        )
        off = _difference(result, exact)
        if not off <= allowed:
            return f"it is off by {off:.1e} from the model's own function, and {allowed:.1e} is allowed"
    return None


def _largest_score(call: AttentionCall) -> float:
    """Return the largest score if all terms had the same sign, which is the size of the numbers that are rounded."""
    groups = call.key.shape[1]
    by_group = call.query.abs().double().reshape(len(call.query), groups, -1, call.query.shape[-1])
    products = abs(scaling_of(call)) * (by_group @ call.key.abs().double().transpose(2, 3)).amax()
    bias = bias_of(call, slice(None))
    if bias is not None:
        visible = bias > torch.finfo(bias.dtype).min / 2
        products = products + bias.double().abs().where(visible, 0.0).amax()
    return float(products)


def _difference(result: FusedResult, exact: Attended) -> float:
    """Return the largest difference in weights and sink, and in the output relative to its size and rounding."""
    assert result.weights is not None
    size = exact.output.abs().amax().clamp(min=1.0)
    output = (result.output - exact.output).abs().amax() / size
    rounding = torch.finfo(result.output.dtype).eps
    differences: list[Tensor] = [
        (result.weights - exact.weights).abs().amax(),
        output - rounding if rounding > _ROUNDING else output,
    ]
    if result.sink is not None and exact.sink is not None:
        differences.append((result.sink - exact.sink).abs().amax())
    return float(torch.stack([each.double() for each in differences]).amax())
