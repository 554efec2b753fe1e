"""The pass of a batch with all heads unchanged, and its measurements in the forward and the backward pass."""

from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import UNCHANGED, ChangedPasses, Changes, LayerRows, OutputChange
from headscope.attention.interventions.direct_effect import DirectEffects
from headscope.attention.interventions.first_order import FirstOrder
from headscope.attention.interventions.without_graph import without_graph
from headscope.encoding.questions.loss_questions import NO_TARGET
from headscope.models.losses import segment_losses


def unchanged_outputs(
    passes: ChangedPasses,
    inputs: dict[str, Tensor],
    targets: Int[Tensor, "batch position"],
    *,
    direct: DirectEffects | None = None,
    first_order: FirstOrder | None = None,
) -> Any:
    """Run the unchanged model, and its backward pass if first-order effects are requested; return the model's output.

    Args:
        passes: passes of the model, inside their `listening` block.
        inputs: the model's arguments for the batch.
        targets: the right tokens, `NO_TARGET` at positions without a target.
        direct: listener for direct effects.
        first_order: takes the gradient; the model's parameters are frozen.
    """
    with ExitStack() as stack:
        looks = UNCHANGED
        if direct is not None:
            stack.enter_context(direct.listening())
            looks = direct.looks
        if first_order is None:
            stack.enter_context(torch.inference_mode())
            return passes.unchanged(inputs, changes=looks)
        stack.enter_context(torch.enable_grad())
        outputs = passes.unchanged(inputs, changes=_both(looks, first_order.looks))
        logits = outputs.logits
        scores = logits if logits.ndim == 2 else logits[targets != NO_TARGET]
        segment_losses(scores, targets).sum().backward()  # type: ignore[no-untyped-call]
    return without_graph(outputs)


def _both(first: Changes, then: Changes) -> Changes:
    """Return changes that first call the functions of `first` on head outputs, and then those of `then`."""

    def outputs(layer: Layer) -> OutputChange:
        look, change = first.outputs.get(layer), then.outputs[layer]
        if look is None:
            return change

        def in_turn(rows: LayerRows, written: Tensor) -> Tensor | None:
            look(rows, written)
            return change(rows, written)

        return in_turn

    return Changes(outputs={layer: outputs(layer) for layer in then.outputs}, weights=first.weights)
