"""Interventions on head outputs: no output, and the mean over rows of the same class."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import FittingInputs, OutputIntervention, check_several, halves_of
from headscope.attention.interventions.row_class import ROW_CLASSES, row_classes


class Zero(OutputIntervention):
    """An intervention that replaces head outputs by 0."""

    name: ClassVar[str] = "zero"

    def replacement(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the replacement outputs of all heads of a layer."""
        return torch.zeros_like(outputs)


@dataclass(frozen=True, eq=False)
class Mean(OutputIntervention):
    """An intervention with a head's mean output over the rows of the same class in the other half of the documents.

    Attributes:
        means: means by layer, `[half, class, head, width]`; a class that is missing in a half has the mean over all its
            rows.
        halves: half of each document; the documents of one half are measured with the means of the other.
    """

    means: dict[Layer, Float[Tensor, "half class head width"]]
    halves: dict[str, int]
    name: ClassVar[str] = "mean"

    @classmethod
    def fitted(cls, inputs: FittingInputs) -> "Mean":
        """Compute the means over some inputs.

        Raises:
            InputError: all inputs belong to one document.
        """
        check_several(inputs, cls.name)
        halves = halves_of(inputs.documents, seed=inputs.seed)
        sums: dict[Layer, Tensor] = {}
        numbers: dict[Layer, Tensor] = {}

        def visit(rows: LayerRows, outputs: Tensor) -> None:
            size = len(ROW_CLASSES)
            half = torch.tensor([halves[document] for document in rows.queries.documents])
            cells = (row_classes(rows.queries) + size * half.to(outputs.device)[:, None])[rows.queries.valid]
            of_rows = outputs[rows.queries.valid].double()
            if rows.layer not in sums:
                sums[rows.layer] = of_rows.new_zeros(2 * size, *of_rows.shape[1:])
                numbers[rows.layer] = of_rows.new_zeros(2 * size)
            sums[rows.layer].index_add_(0, cells, of_rows)
            numbers[rows.layer].index_add_(0, cells, torch.ones_like(cells, dtype=torch.float64))

        inputs.visit(visit)
        return cls({layer: _means(sums[layer], numbers[layer]) for layer in sums}, halves)

    def replacement(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the replacement outputs of all heads of a layer."""
        fitting = torch.tensor([1 - self.halves[document] for document in rows.queries.documents])
        return self.means[rows.layer][fitting.to(outputs.device)[:, None], row_classes(rows.queries)]


def _means(sums: Tensor, numbers: Tensor) -> Tensor:
    """Divide sums over the rows of each half and class, `[half * class, head, width]`, by the numbers of rows."""
    sums, numbers = sums.reshape(2, -1, *sums.shape[1:]), numbers.reshape(2, -1)
    of_all = sums.sum(1, keepdim=True) / numbers.sum(1).clamp(min=1)[:, None, None, None]
    of_class = sums / numbers.clamp(min=1)[..., None, None]
    return torch.where(numbers[..., None, None] > 0, of_class, of_all).float()
