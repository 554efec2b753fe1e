"""Zero and mean ablation of head outputs, and interventions that replace weights (by uniform weights or a sink)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import (
    FittingInputs,
    OutputIntervention,
    WeightIntervention,
    check_several,
    halves_of,
)
from headscope.attention.model.learned_sink import EagerOutput
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass

ROW_CLASSES = ("cls", "sep", "first", "other")
"""`first` is the first token if it is not a special token."""
_SINKS = (KeyClass.CLS, KeyClass.SEP)


def row_classes(tokens: SegmentInfo) -> Int[Tensor, "batch row"]:
    """Return the class of each attending token, as its position in `ROW_CLASSES`; padding is `other`."""
    cls, sep, first, other = range(len(ROW_CLASSES))
    classes = torch.where(tokens.positions == 0, first, other)
    classes = torch.where(tokens.classes == KeyClass.SEP, sep, classes)
    return torch.where(tokens.classes == KeyClass.CLS, cls, classes).masked_fill(~tokens.valid, other)


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


def uniform_weights(rows: LayerRows, *, sink: bool, dtype: torch.dtype) -> Float[Tensor, "batch 1 row key"]:
    """Return equal weights for all keys that a row sees; a learned sink counts as one more key, and takes its share.

    Args:
        rows: rows of the layer.
        sink: whether the layer has a learned sink.
        dtype: dtype of the weights.
    """
    visible = rows.visibility.visible
    number = visible.sum(-1, keepdim=True) + sink
    return (visible / number.clamp(min=1))[:, None].to(dtype)


class Uniform(WeightIntervention):
    """An intervention with uniform attention over all keys that a row sees."""

    name: ClassVar[str] = "uniform"

    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the replacement weights of some heads of a layer."""
        weights = uniform_weights(rows, sink=answer.sink is not None, dtype=answer.weights.dtype)
        return weights.expand(-1, len(heads), -1, -1)


class Sink(WeightIntervention):
    """An intervention with all attention on the row's most attended sink: a first token, a separator, a learned sink.

    Rows that see no sink are not changed.
    """

    name: ClassVar[str] = "sink"

    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the replacement weights of some heads of a layer."""
        weights = answer.weights[:, heads]
        is_sink = torch.isin(rows.keys.classes, torch.tensor(_SINKS, device=weights.device))
        sinks = (is_sink[:, None] & rows.visibility.visible)[:, None]
        most, key = torch.where(sinks, weights, -1.0).max(-1, keepdim=True)
        on_key = torch.zeros_like(weights).scatter_(-1, key, 1.0)
        changed = torch.where(most >= 0, on_key, weights)
        if answer.sink is None:
            return changed
        # The weight of a learned sink adds the value of no key.
        return torch.where(answer.sink[:, heads][..., None] >= most, 0.0, changed)
