"""First-order effects: the change of a loss if heads write something else, estimated by its gradient alone.

With z the output of a head, z' its replacement and L the loss of a segment, the effect is the sum over rows of
dL/dz . (z' - z): attribution patching (Nanda 2023). One backward pass gives it for all heads at once.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import Changes, LayerRows
from headscope.attention.interventions.intervention import Intervention, OutputIntervention
from headscope.attention.interventions.written_changes import Zero


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
    def looks(self) -> Changes:
        """Functions that watch each layer of the pass, and change nothing."""
        return Changes(outputs=dict.fromkeys(self._layers, self._watch))

    def gate(self, layer: Layer) -> Float64[Tensor, "batch head"]:
        """Return the gradient of each segment's loss by a gate of 1 on each head's output, nats."""
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
