"""The pass of a batch with all heads unchanged: its measurements, first-order effects, and a check of the gradient.

First-order effects are attribution patching (Nanda 2023): with z the output of a head, z' its replacement and L the
loss of a segment, the effect is the sum over rows of dL/dz . (z' - z). One backward pass gives it for all heads.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn

from headscope.attention.interventions.block_plan import Layer, without_graph
from headscope.attention.interventions.changed_pass import ChangedPasses, Changes, LayerRows
from headscope.attention.interventions.direct_effect import DirectEffects
from headscope.attention.interventions.intervention import Intervention, OutputIntervention
from headscope.attention.interventions.replacement import Zero
from headscope.encoding.loss_questions import NO_TARGET
from headscope.models.forward_inputs import short_segment
from headscope.models.losses import frozen, segment_losses
from headscope.models.placement import is_offloaded
from headscope.models.temporary_changes import hooked


class FirstOrder:
    """Watch the unchanged pass of a batch and its backward pass, then compute the loss that each change would add.

    Args:
        interventions: interventions on heads.
        layers: layers to watch.

    Attributes:
        ends: layers where the backward pass ends, because their head outputs depend on no earlier layer.
    """

    def __init__(self, interventions: Sequence[Intervention], layers: Iterable[Layer]) -> None:
        writing = [each for each in interventions if isinstance(each, OutputIntervention)]
        self._has_attribution = 0 < len(writing) == len(interventions)
        self._changes = [Zero(), *(writing if self._has_attribution else ())]
        self._layers = tuple(layers)
        self._added: dict[Layer, Tensor] = {}
        self.ends: list[Layer] = []

    @property
    def hooks(self) -> Changes:
        """Functions that watch each layer of the pass, and change nothing."""
        return Changes(outputs=dict.fromkeys(self._layers, self._watch))

    def gate(self, layer: Layer) -> Float64[Tensor, "batch head"]:
        """Return the gradient of each segment's loss with respect to a gate of 1 on each head's output, in nats."""
        return -self._added[layer][..., 0]

    def attribution(self, layer: Layer) -> Float64[Tensor, "batch head intervention"] | None:
        """Return the loss added to each segment by changing each head, nats; None if interventions change weights."""
        return self._added[layer][..., 1:] if self._has_attribution else None

    def _watch(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the same outputs as a tensor whose gradient is recorded."""
        if not outputs.requires_grad:
            self.ends.append(rows.layer)
            outputs = outputs.detach().requires_grad_(True)
        batch, _, heads, _ = outputs.shape
        # These zeros remain if the loss does not depend on the layer.
        self._added[rows.layer] = outputs.new_zeros(batch, heads, len(self._changes), dtype=torch.float64)
        outputs.register_hook(partial(self._take, rows, outputs.detach()))  # type: ignore[no-untyped-call]
        return outputs

    def _take(self, rows: LayerRows, outputs: Tensor, gradient: Float[Tensor, "batch row head width"]) -> None:
        """Multiply the gradient by the changes of the exact interventions."""
        exact = torch.promote_types(outputs.dtype, torch.float32)
        by_intervention = []
        with torch.no_grad():
            for each in self._changes:
                change = each.replacement(rows, outputs).to(outputs.dtype) - outputs
                by_row = (change * gradient).sum(-1, dtype=exact).double()
                # A row of padding may hold NaN.
                by_row = torch.where(rows.queries.valid[..., None], by_row, 0.0)
                by_intervention.append(by_row.sum(1))
            self._added[rows.layer] = torch.stack(by_intervention, dim=-1)


def missing_gradient(passes: ChangedPasses) -> str:
    """Return the reason why the loss has no gradient with respect to the head outputs; empty if it has one.

    A synthetic input of a few tokens is run. A kernel without a backward pass, as quantized layers may have, either
    fails or silently drops part of the gradient.

    Args:
        passes: passes of the model.
    """
    shared, projections = passes.shared, passes.projections
    for (kind, layer), why in projections.missing.items():
        return f"{kind} layer {layer + 1}: {why}"
    if is_offloaded(shared.model):
        return "its weights are offloaded and loaded one module at a time, but a gradient needs all of them at once"
    first_order = FirstOrder((), projections.layers)
    try:
        with (
            passes.listening(),
            _cuts(shared.model) as cuts,
            frozen(shared.model),
            torch.enable_grad(),
            shared.batch([short_segment(shared.vocabulary)]) as inputs,
        ):
            scores: Tensor = passes.unchanged(inputs, first_order.hooks)[0]
            scores.float().square().sum().backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # the model's own code may raise anything
        first_line, _, _ = str(error).strip().partition("\n")
        return f"its backward pass failed ({first_line})"
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
        watchers = []
        if direct is not None:
            stack.enter_context(direct.listening())
            watchers.append(direct.hooks)
        if first_order is None:
            stack.enter_context(torch.inference_mode())
            return passes.unchanged(inputs, *watchers)
        stack.enter_context(torch.enable_grad())
        outputs = passes.unchanged(inputs, *watchers, first_order.hooks)
        logits = outputs.logits
        scores = logits if logits.ndim == 2 else logits[targets != NO_TARGET]
        segment_losses(scores, targets).sum().backward()  # type: ignore[no-untyped-call]
    return without_graph(outputs)
