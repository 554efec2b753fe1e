"""Interventions on attention weights that keep the values: uniform attention, or all attention on a sink."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import WeightIntervention
from headscope.attention.model.learned_sink import Attended
from headscope.encoding.vocabulary import KeyClass

_SINKS = (KeyClass.CLS, KeyClass.SEP)


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

    def weights(self, heads: list[int], rows: LayerRows, answer: Attended) -> Tensor:
        """Return the replacement weights of some heads of a layer."""
        weights = uniform_weights(rows, sink=answer.sink is not None, dtype=answer.weights.dtype)
        return weights.expand(-1, len(heads), -1, -1)


class Sink(WeightIntervention):
    """An intervention with all attention on the row's most attended sink: a first token, a separator, a learned sink.

    Rows that see no sink are not changed.
    """

    name: ClassVar[str] = "sink"

    def weights(self, heads: list[int], rows: LayerRows, answer: Attended) -> Tensor:
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
