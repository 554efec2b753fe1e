"""How long what the heads of a kind write of each token is, so that a weight can be told from what it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.attention.vectors.output_norms import OutputNorms


@dataclass(frozen=True, eq=False)
class WrittenNorms:
    """What a head writes at row i of key j is `weights[i, j] * keys[j] * rows[i]` long.

    Attributes:
        keys: `|v_j W|`, the length of a key's value times the head's rows of the output projection, float32
            `[layer, head, key]`.
        rows: what norms and gates on the way make of it in each row, float32 `[layer, head, query]`; 1 without them.
    """

    keys: NDArray[np.float32]
    rows: NDArray[np.float32]

    @classmethod
    def of_layers(cls, layers: Sequence[OutputNorms | None]) -> WrittenNorms | None:
        """Put the layers of one input together; None where one is not known, or is gated by channel."""
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
