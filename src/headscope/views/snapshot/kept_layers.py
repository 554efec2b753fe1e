"""The layers of a snapshot, stored as the model computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.model.score_parts import NeuronLayer
from headscope.attention.model.tap import AttentionCall
from headscope.attention.vectors.output_norms import OutputNorms
from headscope.attention.vectors.writing import Writing
from headscope.models.anatomy import CallSite
from headscope.views.snapshot.neuron import neuron_layer


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
