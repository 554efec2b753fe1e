"""The hook into a model: one registered attention function that passes every call to a listener.

transformers looks up its attention function by name at every call (`AttentionInterface`). Queries, keys, values,
scaling, masks, soft-caps and position encodings therefore arrive as the model computed them, and nothing of the model
is re-implemented: a call without a listener is answered by the model's eager function.

Some models have a learned sink: a logit without a token, one per head (GPT-OSS) or per head and token (Inkling). It
takes a share of every row's softmax and adds nothing to the output. It counts as one more key that every row sees, so
that the weights of the tokens and of the sink sum to 1.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.temporary_changes import evaluate, switch_attention

IMPLEMENTATION = "headscope"

# The process has a single registered function. It looks up the listener by the module that makes the call, so that
# scans of different models cannot interfere with each other.
_listeners: "WeakKeyDictionary[nn.Module, Tap]" = WeakKeyDictionary()
_lock = Lock()
_registered = False


@dataclass(frozen=True)
class AttentionCall:
    """One call of the attention function.

    Attributes:
        order: the number of calls before it in this forward pass.
        module: the attention module that calls.
        query: `[batch, head, query, width]`, after position encoding.
        key: `[batch, group, key, width]`.
        value: `[batch, group, key, width]`.
        mask: the model's mask, `[batch or 1, 1, query or 1, key]`, or None.
        options: the other arguments that the model passes (scaling, dropout, soft-cap, position bias ...).
    """

    order: int
    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    options: Mapping[str, Any]

    def eager(self, rows: slice | None = None) -> tuple[Tensor, Tensor]:
        """Call the model's eager function for all rows, or for some of them.

        Returns:
            The output `[batch, row, head, width]` and the weights `[batch, head, row, key]`.
        """
        query, mask, options = self.query, self.mask, dict(self.options)
        if rows is not None:
            query = query[:, :, rows]
            mask = mask[:, :, rows] if mask is not None and mask.shape[2] > 1 else mask
            if options.get("position_bias") is not None:
                options["position_bias"] = bias_of(self, rows)
            sinks = options.get("sinks")
            if isinstance(sinks, Tensor) and sinks.ndim == 4 and sinks.shape[2] > 1:  # one per row
                options["sinks"] = sinks[:, :, rows]
        output, weights = eager_function(self.module)(self.module, query, self.key, self.value, mask, **options)
        return output, weights


Listener = Callable[[AttentionCall], Tensor]


class Tap:
    """Listen to a model's attention inside the `with` block.

    Args:
        model: a transformers model.
        listener: gets each call and returns the attention output `[batch, query, head, width]`.

    The attention implementation, the modes (train or eval) and other settings of the model are restored at the end,
    also after an error.

    Raises:
        ModelError: the model is being listened to already.
    """

    def __init__(self, model: nn.Module, listener: Listener) -> None:
        self.model = model
        self.listener = listener
        self.calls = 0
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> "Tap":
        _register()
        modules = list(self.model.modules())
        with _lock:
            if any(module in _listeners for module in modules):
                raise ModelError(
                    "this model is being scanned already; wait for that scan to end, or load the model a second time"
                )
            for module in modules:
                _listeners[module] = self
        try:
            self._undo.append(evaluate(self.model))
            hook = self.model.register_forward_pre_hook(self._reset)
            self._undo.append(hook.remove)
            self._undo.append(switch_attention(self.model, IMPLEMENTATION))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()
        with _lock:
            for module in self.model.modules():
                if _listeners.get(module) is self:
                    del _listeners[module]

    def _reset(self, *_: object) -> None:
        self.calls = 0

    def answer(self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, options: Any) -> Tensor:
        """Pass a call on to the listener."""
        call = AttentionCall(self.calls, module, query, key, value, mask, options)
        self.calls += 1
        return self.listener(call)


def output_of(call: AttentionCall, weights: Tensor) -> Tensor:
    """Return weights times the values of a call, for a listener that replaces the weights.

    Args:
        call: the call whose values are used.
        weights: `[batch, head, row, key]`, after the softmax; rows need not sum to 1.

    Returns:
        The attention output `[batch, row, head, width]`; with eager's weights it equals eager's output.
    """
    return (weights @ values_by_head(call)).transpose(1, 2).contiguous()


def values_by_head(call: AttentionCall) -> Tensor:
    """Return the values that each head reads, `[batch, head, key, width]`: repeated for the heads of a group."""
    shared = call.query.shape[1] // call.value.shape[1]
    return call.value if shared == 1 else call.value.repeat_interleave(shared, dim=1)


def eager_function(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the eager attention function that is defined in the module of a class.

    Raises:
        ModelError: the class has no such function.
    """
    for cls in type(module).__mro__:
        function = getattr(sys.modules.get(cls.__module__), "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise ModelError(f"{type(module).__name__} has no eager attention function to take the weights from")


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """Return the listener's output to transformers, or eager's if no listener is registered."""
    tap = _listeners.get(module)
    if tap is None:
        return eager_function(module)(module, query, key, value, attention_mask, **options)
    return tap.answer(module, query, key, value, attention_mask, options), None


def _register() -> None:
    """Register the attention function and its mask, once per process."""
    global _registered
    with _lock:
        if _registered:
            return
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, eager_mask

        AttentionInterface.register(IMPLEMENTATION, _attend)
        # Eager's additive mask is None if nothing is masked, which saves a pass over the scores.
        AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)
        _registered = True


def scaling_of(call: AttentionCall) -> float:
    """Return the factor of the scores; the default is 1 / sqrt(width)."""
    scaling = call.options.get("scaling")
    return float(call.query.shape[-1] ** -0.5 if scaling is None else scaling)


def bias_of(call: AttentionCall, rows: slice) -> Tensor | None:
    """Return the position bias of some rows, which is added to their scores, or None."""
    bias = call.options.get("position_bias")
    return bias[..., rows, :] if isinstance(bias, Tensor) and bias.shape[-2] > 1 else bias


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
