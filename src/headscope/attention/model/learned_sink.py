"""A learned sink: a logit without a token. It takes a share of every row's softmax and adds nothing to the output.

GPT-OSS and similar models have one per head, Inkling one per head and token. It counts as one more key that every row
sees, so that the weights of the tokens and of the sink sum to 1.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headscope.attention.model.tap import AttentionCall

# Names of the option with which models pass it to their attention function.
_OPTIONS = ("s_aux", "sinks")


@dataclass(frozen=True)
class EagerOutput:
    """The result of a call of the model's own eager function.

    Attributes:
        output: `[batch, row, head, width]`.
        weights: weights of the tokens, `[batch, head, row, key]`; their product with the values is the output.
        sink: weight of the learned sink, `[batch, head, row]`; None if there is none.
    """

    output: Tensor
    weights: Tensor
    sink: Tensor | None


def sink_of(call: AttentionCall) -> Tensor | None:
    """Return a call's sink as the model gives it, or None if it has none."""
    options = (call.options.get(name) for name in _OPTIONS)
    return next((each for each in options if isinstance(each, Tensor)), None)


def known_sink(call: AttentionCall) -> bool:
    """Return True if a call has no sink, or logits of a sink in a shape that `sink_logits` knows."""
    if not any(call.options.get(name) is not None for name in _OPTIONS):
        return True
    sink, (batch, heads, rows, _) = sink_of(call), call.query.shape
    if sink is None:
        return False
    return sink.shape == (heads,) or (
        sink.ndim == 4 and len(sink) in (1, batch) and sink.shape[1:] in ((heads, rows, 1), (heads, 1, 1))
    )


def sink_logits(call: AttentionCall, rows: slice = slice(None)) -> Tensor | None:
    """Return the logits of a known sink for some rows, `[batch or 1, head, row or 1]`; None without a sink."""
    sink = sink_of(call)
    if sink is None:
        return None
    if sink.ndim == 1:  # one per head
        return sink[None, :, None]
    return sink[..., 0] if sink.shape[2] == 1 else sink[:, :, rows, 0]


def attended(call: AttentionCall, rows: slice | None = None) -> EagerOutput:
    """Call the model's own eager function, for all rows or some; see `EagerOutput`."""
    if sink_of(call) is None:
        return EagerOutput(*call.eager(rows), None)
    # With values of 1, the output is the total weight of the tokens, however the model computes it: GPT-OSS
    # drops the sink's column from its weights; Granite returns weights without it, and scales the output instead.
    ones = call.value.new_ones((*call.value.shape[:-1], 1))
    output, weights = replace(call, value=torch.cat([call.value, ones], dim=-1)).eager(rows)
    left, total = output[..., -1].transpose(1, 2), weights.sum(-1)
    rounding = 16 * torch.finfo(weights.dtype).eps
    scaled = ((left - total).abs() > rounding) & (total > 0)
    weights = weights * torch.where(scaled, left / total, 1.0)[..., None]
    return EagerOutput(output[..., :-1].contiguous(), weights, sink_weight(weights))


def sink_weight(weights: Tensor) -> Tensor:
    """Return the weight that the tokens leave to a sink, `[..., row]`: 1 minus the sum of their weights."""
    exact = torch.promote_types(weights.dtype, torch.float32)
    return (1 - weights.sum(-1, dtype=exact)).clamp(min=0)
