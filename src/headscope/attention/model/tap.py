"""The hook into a model: one registered attention function that passes every call to a listener.

transformers looks up its attention function by name at every call (`AttentionInterface`). Queries, keys, values,
scaling, masks, soft-caps and position encodings therefore arrive as the model computed them, and nothing of the model
is re-implemented: a call without a listener is answered by the model's eager function.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

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
