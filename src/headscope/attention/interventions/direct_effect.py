"""Direct effects: head outputs taken straight to the logits, past all later layers (Elhage et al. 2021)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import Changes, LayerRows
from headscope.attention.model.output_path import Projection
from headscope.attention.model.ov_circuit import ov_copying
from headscope.attention.model.projections import Projections
from headscope.attention.model.tap import EagerOutput
from headscope.attention.model.unembedding import Unembedding, find_unembedding
from headscope.encoding.loss_questions import NO_TARGET
from headscope.encoding.vocabulary import KeyClass, Vocabulary
from headscope.models.anatomy import Anatomy

DIRECT = ("direct", "copying")
"""Effects on the logit of the right token, and on that of the most attended token; each is the mean over rows."""
_SINKS = (int(KeyClass.CLS), int(KeyClass.SEP))


class DirectEffects:
    """Record a batch's unchanged pass, then compute each head's direct contribution to the logits.

    A head that adds f to the stream adds `(W_U[y] - mean W_U) . norm(f)` to the logit, with the scale that the norm
    has for the whole stream of the row.

    Args:
        unembedding: map from the stream to the logits.
        projections: paths from heads to the stream, for every layer.
        targets: the right tokens, `NO_TARGET` at positions without a target, `[batch, position]`.
    """

    def __init__(
        self, unembedding: Unembedding, projections: Projections, targets: Int[Tensor, "batch position"]
    ) -> None:
        self._unembedding, self._projections = unembedding, projections
        self._has_target = targets != NO_TARGET
        self._right = targets[self._has_target]
        self._outputs: dict[Layer, Tensor] = {}
        self._strongest: dict[Layer, tuple[Tensor, Tensor]] = {}
        self._scale: Tensor | None = None

    @property
    def hooks(self) -> Changes:
        """Hooks on each layer of the pass that read its values and change nothing."""
        layers = self._projections.layers
        return Changes(
            outputs=dict.fromkeys(layers, self._keep_output), weights=dict.fromkeys(layers, self._keep_strongest)
        )

    def listening(self) -> RemovableHandle:
        """Listen to the norm inside a `with` block of the returned handle."""
        return self._unembedding.norm.module.register_forward_hook(self._keep_scale)

    def of_layer(self, layer: Layer) -> Float[Tensor, "batch head effect"]:
        """Return the effects of a layer's heads on each segment, `[batch, head, DIRECT]`; NaN where no row has one.

        Args:
            layer: a layer of the pass; its effects can be read only once.
        """
        rows, (tokens, has_token) = self._outputs.pop(layer), self._strongest.pop(layer)
        assert self._scale is not None
        by_head = []
        for head in range(rows.shape[1]):
            alone = torch.zeros_like(rows)
            alone[:, head] = rows[:, head]
            added = _added(self._projections.layers[layer], alone.flatten(1), rows.flatten(1))
            normed = self._unembedding.norm.linear(added) * self._scale[:, None]
            right, looked_at = (
                (normed * self._unembedding.directions(each)).sum(-1) for each in (self._right, tokens[:, head])
            )
            every = torch.ones_like(has_token[:, head])
            by_head.append(torch.stack([self._means(right, every), self._means(looked_at, has_token[:, head])], dim=-1))
        return torch.stack(by_head, dim=1)

    @torch.no_grad()
    def _keep_output(self, rows: LayerRows, outputs: Tensor) -> None:
        self._outputs[rows.layer] = outputs[self._has_target]

    @torch.no_grad()
    def _keep_strongest(self, rows: LayerRows, answer: EagerOutput) -> tuple[list[int], Tensor]:
        """Keep each head's most attended token outside of sinks; change no head."""
        keys = rows.keys
        is_sink = torch.isin(keys.classes, torch.tensor(_SINKS, device=keys.classes.device))
        open_keys = (~(is_sink | (keys.positions == 0)))[:, None] & rows.visibility.visible
        most, key = torch.where(open_keys[:, None], answer.weights, -1.0).max(-1)
        tokens = keys.ids[:, None].expand(-1, key.shape[1], -1).gather(2, key)
        self._strongest[rows.layer] = (
            tokens.transpose(1, 2)[self._has_target],
            (most >= 0).transpose(1, 2)[self._has_target],
        )
        return [], answer.weights[:, :0]

    @torch.no_grad()
    def _keep_scale(self, _: nn.Module, arguments: tuple[Any, ...], answer: Tensor) -> None:
        self._scale = self._unembedding.norm.scale(arguments[0][self._has_target], answer[self._has_target])

    def _means(self, values: Tensor, counted: Tensor) -> Float[Tensor, " batch"]:
        """Return each segment's mean over the rows that are counted."""
        owner = self._has_target.nonzero()[:, 0]
        empty = values.new_zeros(len(self._has_target), dtype=torch.float64)
        sums = empty.index_add(0, owner, torch.where(counted, values, 0.0).double())
        return sums / empty.index_add(0, owner, counted.double())


def _added(projection: Projection, alone: Tensor, every: Tensor) -> Float[Tensor, "row width"]:
    """Return the addition of one head to the stream, without the projection's bias.

    Args:
        projection: projection of the head's layer.
        alone: input of the projection from this head, 0 elsewhere.
        every: input of the projection from all heads, on which the scale of a norm after it depends.
    """
    bias = projection.module.forward(torch.zeros_like(alone[:1]))
    added = projection.module.forward(alone) - bias
    exact = torch.promote_types(added.dtype, torch.float32)
    added = added.to(exact)
    if projection.after is not None:
        projected = projection.module.forward(every)
        scale = projection.after.scale(projected, projection.after.module.forward(projected))
        added = scale[:, None] * projection.after.linear(added)
    result: Tensor = projection.multiplier * added
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitPath:
    """The path from heads to logits. Before `find_logit_path` has run it has neither an unembedding nor reasons.

    Attributes:
        unembedding: map from the stream to the logits; None if it is not known.
        ov_copying: copying scores computed from weights alone, by layer, for the layers where they are known.
        no_direct: reason for missing direct effects; empty if there are some.
        no_ov: reason for missing copying scores from weights; empty if there are some.
    """

    unembedding: Unembedding | None = None
    ov_copying: Mapping[Layer, Tensor] = field(default_factory=dict)
    no_direct: str = ""
    no_ov: str = ""


def find_logit_path(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, blocks: Sequence[nn.Module], projections: Projections
) -> LogitPath:
    """Run short inputs and find how head outputs become logits.

    Args:
        model: a transformers model with its head.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        blocks: blocks of the model.
        projections: projections of every layer.
    """
    unembedding = find_unembedding(model, anatomy, vocabulary, blocks)
    if isinstance(unembedding, str):
        return LogitPath(no_direct=unembedding, no_ov=unembedding)
    if projections.unknown_reason:
        return LogitPath(no_direct=projections.unknown_reason, no_ov=projections.unknown_reason)
    scores = ov_copying(model, anatomy, vocabulary, projections, unembedding)
    if isinstance(scores, str):
        return LogitPath(unembedding=unembedding, no_ov=scores)
    return LogitPath(unembedding=unembedding, ov_copying=scores)
