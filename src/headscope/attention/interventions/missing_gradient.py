"""Check that a model gives the gradient of its loss by its head outputs, in one forward and one backward pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.interventions.changed_pass import ChangedPasses
from headscope.attention.interventions.first_order import FirstOrder
from headscope.models.forward_inputs import short_segment
from headscope.models.hooks import hooked
from headscope.models.losses import frozen
from headscope.models.placement import is_offloaded


def missing_gradient(passes: ChangedPasses) -> str:
    """Return the reason why a model gives no gradient by its head outputs; empty if it gives one.

    A synthetic input of a few tokens is run. A kernel without a backward pass, as quantized layers may have, either
    fails or interrupts the gradient, which then lacks a part.

    Args:
        passes: passes of the model.
    """
    shared, projections = passes.shared, passes.projections
    for (kind, layer), why in projections.missing.items():
        return f"{kind} layer {layer + 1}: {why}"
    if is_offloaded(shared.model):
        return "its weights are fetched for each part in turn, and a gradient needs all of them at once"
    first_order = FirstOrder((), projections.layers)
    try:
        with (
            passes.listening(),
            _cuts(shared.model) as cuts,
            frozen(shared.model),
            torch.enable_grad(),
            shared.batch([short_segment(shared.vocabulary)]) as inputs,
        ):
            scores: Tensor = passes.unchanged(inputs, changes=first_order.looks)[0]
            scores.float().square().sum().backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # the model's own code may raise anything
        first_line, _, _ = str(error).strip().partition("\n")
        return f"no gradient of it can be taken ({first_line})"
    for part in cuts:
        return f"no gradient passes through its {part}"
    for kind, layer in first_order.ends:
        if layer:
            return f"no gradient passes through the attention of {kind} layer {layer + 1}"
    return ""


@contextmanager
def _cuts(model: nn.Module) -> Iterator[list[str]]:
    """Record, inside the `with` block, the modules with a gradient on their input and none on their output."""
    cuts: list[str] = []

    def look(part: nn.Module, arguments: tuple[Any, ...], answer: Any) -> None:
        states = next((each for each in arguments if isinstance(each, Tensor)), None)
        # A module that makes positions from states returns several tensors.
        is_state = isinstance(answer, Tensor) and answer.is_floating_point()
        if is_state and states is not None and states.requires_grad and not answer.requires_grad:
            cuts.append(type(part).__name__)

    with hooked(part.register_forward_hook(look) for part in model.modules()):
        yield cuts
