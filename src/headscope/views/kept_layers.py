"""The layers of a snapshot, stored as the model computes them: weights, the parts of scores, and norms of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.model.tap import AttentionCall, scaling_of
from headscope.attention.output_norms import OutputNorms, Writing
from headscope.errors import AttentionError
from headscope.models.anatomy import CallSite


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuronLayer:
    """The parts from which a layer's weights are computed.

    score = scaling (q . k) + bias; with a soft-cap c, c tanh(score / c); a hidden key has no weight; the weights are
    the softmax of the scores.

    Attributes:
        queries: queries after position encoding, float32 `[head, query, width]`.
        keys: keys after position encoding, float32 `[group, key, width]`.
        groups: key group that each head reads, `[head]`.
        scaling: factor of the product.
        bias: position bias, float32 `[head or 1, query, key]`; None for none.
        softcap: bound of the scores; None for none.
        visible: keys that a query may attend to, `[query, key]`; None for all.

    Raises:
        AttentionError: the shapes of the parts do not match.
    """

    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    groups: tuple[int, ...]
    scaling: float
    bias: NDArray[np.float32] | None = None
    softcap: float | None = None
    visible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        heads, rows, width = self.queries.shape
        groups, columns, key_width = self.keys.shape
        bias = (1, rows, columns) if self.bias is None else self.bias.shape
        fits = (
            width == key_width
            and len(self.groups) == heads
            and all(0 <= group < groups for group in self.groups)
            and bias in ((1, rows, columns), (heads, rows, columns))
            and (self.visible is None or self.visible.shape == (rows, columns))
        )
        if not fits:
            raise AttentionError(
                f"queries {self.queries.shape}, keys {self.keys.shape}, bias {bias}, mask "
                f"{None if self.visible is None else self.visible.shape} and the groups of {len(self.groups)} heads do "
                "not fit; expected [head, query, width], [group, key, width], [head or 1, query, key], [query, key]"
            )

    @property
    def products(self) -> NDArray[np.float32]:
        """q . k, `[head, query, key]`."""
        products: NDArray[np.float32] = self.queries @ self.keys[list(self.groups)].swapaxes(1, 2)
        return products

    @property
    def scores(self) -> NDArray[np.float32]:
        """Scores before the mask, `[head, query, key]`."""
        scores = self.products * np.float32(self.scaling)
        if self.bias is not None:
            scores = scores + self.bias
        if self.softcap is not None:
            scores = np.float32(self.softcap) * np.tanh(scores / np.float32(self.softcap))
        return scores

    @property
    def weights(self) -> NDArray[np.float32]:
        """The softmax of the scores over the visible keys, `[head, query, key]`."""
        scores = self.scores
        if self.visible is not None:
            scores = np.where(self.visible, scores, np.float32(-np.inf))
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        weights: NDArray[np.float32] = exponentials / exponentials.sum(-1, keepdims=True)
        return weights


# Largest accepted difference between the softmax of the displayed scores and the weights that the model computed.
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}
_HALF_TOLERANCE = 0.05
DIFFERENT = (
    "The queries and keys of this model do not give its weights by scaling, position bias, soft-cap and softmax alone, "
    "so the neuron view would show sums that are not true."
)
WITH_SINK = (
    "This model's heads have a learned sink, a logit without a token, which the neuron view has no row for; the other "
    "views show it as the last key."
)


@dataclass(frozen=True, eq=False)
class WrittenNorms:
    """Factors of output norms: the output of a head at row i from key j has norm `weights[i, j] * keys[j] * rows[i]`.

    Attributes:
        keys: `|v_j W|`, the norm of a key's value times the head's rows of the output projection, float32
            `[layer, head, key]`.
        rows: factor of norms and gates after the attention in each row, float32 `[layer, head, query]`; 1 without them.
    """

    keys: NDArray[np.float32]
    rows: NDArray[np.float32]

    @classmethod
    def of_layers(cls, layers: Sequence[OutputNorms | None]) -> WrittenNorms | None:
        """Stack the layers of one input; None if one is unknown, or is gated by channel."""
        known = [layer for layer in layers if layer is not None and layer.pairs is None]
        if not known or len(known) < len(layers):
            return None
        return cls(
            keys=np.stack([layer.keys[0].float().cpu().numpy() for layer in known]),
            rows=np.stack([_rows(layer) for layer in known]),
        )


def _rows(layer: OutputNorms) -> NDArray[np.float32]:
    outputs = layer.outputs[0]
    if layer.scale is None:
        return np.ones(tuple(outputs.shape), dtype=np.float32)
    scale = layer.scale[0].expand_as(outputs)
    return np.ascontiguousarray(scale.float().cpu().numpy())


def neuron_layer(call: AttentionCall, site: CallSite, weights: Tensor) -> NeuronLayer | None:
    """Return the parts of one call's weights, or None if they do not reproduce the weights.

    Args:
        call: a call on a batch of one input without padding.
        site: call site, with the key/value group of each head.
        weights: weights computed by the model's own function, `[1, head, query, key]`.
    """
    rows, columns = weights.shape[2:]
    bias = call.options.get("position_bias")
    added = bias[0].float() if isinstance(bias, Tensor) and bias.any() else None
    visible = None
    if call.mask is not None:
        hidden, more = _split(call.mask[0])
        visible = None if not hidden.any() else _array(~hidden[0].expand(rows, columns))
        if more.any():
            added = more if added is None else added + more
    softcap = call.options.get("softcap")
    layer = NeuronLayer(
        queries=_array(call.query[0].float()),
        keys=_array(call.key[0].float()),
        groups=site.groups,
        scaling=scaling_of(call),
        bias=None if added is None else _array(added.expand(added.shape[0], rows, columns)),
        softcap=None if softcap is None else float(softcap),
        visible=visible,
    )
    off = float(np.abs(layer.weights - _array(weights[0].float())).max(initial=0.0))
    return layer if off <= _TOLERANCE.get(call.query.dtype, _HALF_TOLERANCE) else None


def _split(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Split a mask `[1 or head, query or 1, key]` into hidden positions and the bias added to the other scores."""
    if mask.dtype == torch.bool:
        return ~mask, torch.zeros_like(mask, dtype=torch.float32)
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    return hidden, mask.float().masked_fill(hidden, 0.0)


def _array(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())


class KeptLayers:
    """Stores data of the chosen layers, by kind and label.

    Args:
        wanted: labels of the layers to keep, by kind.
        neuron: True to keep queries and keys.
    """

    def __init__(self, wanted: Mapping[str, Sequence[int]], *, neuron: bool) -> None:
        self.wanted = wanted
        self.with_neuron = neuron
        self.weights: dict[tuple[str, int], NDArray[np.float32]] = {}
        self.sinks: dict[tuple[str, int], NDArray[np.float32]] = {}
        self.neuron: dict[tuple[str, int], NeuronLayer | None] = {}
        self.written: dict[tuple[str, int], OutputNorms] = {}

    def keep(self, site: CallSite, weights: Tensor, sink: Tensor | None, call: AttentionCall | None = None) -> None:
        """Store one layer's weights, `[1, head, query, key]`, and those of its sink, `[1, head, query]`."""
        key = site.kind, site.layer + 1
        if key[1] not in self.wanted[site.kind]:
            return
        self.weights[key] = weights[0].float().cpu().numpy()
        if sink is not None:
            self.sinks[key] = sink[0].float().cpu().numpy()
        if self.with_neuron and call is not None:
            self.neuron[key] = neuron_layer(call, site, weights)

    def write(self, site: CallSite, call: AttentionCall, output: Tensor, writing: Writing) -> None:
        """Store the output norms of one layer, as soon as its gate, if any, is known.

        Args:
            site: call site of the layer.
            call: call of the attention function.
            output: output of the layer's attention, before a gate, `[1, query, head, width]`.
            writing: output projections of the forward pass.
        """
        projection, key = writing.of(site), (site.kind, site.layer + 1)
        if projection is None or key[1] not in self.wanted[site.kind]:
            return
        rows = slice(0, output.shape[1])

        def take(gate: Tensor | None = None) -> None:
            self.written[key] = writing.written(call, projection, rows=rows, output=output, gate=gate)

        if projection.gate == "none":
            take()
        else:
            writing.when_gated(projection, output, take)
