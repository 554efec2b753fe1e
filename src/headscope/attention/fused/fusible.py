"""Which calls of a model's attention the fused path computes."""

import torch
from torch import Tensor

from headscope.attention.model.learned_sink import known_sink
from headscope.attention.model.tap import AttentionCall


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
