"""Norms of the outputs of a kind's heads for each token, so that views can show what a weight contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.attention.vectors.output_norms import OutputNorms


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
