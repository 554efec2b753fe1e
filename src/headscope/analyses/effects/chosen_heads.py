"""Choose the heads of a large model to change: the heads with the largest estimates, and a sample of the others."""

from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.effects.accumulator import GATE
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads
from headscope.attention.tile import AttentionTile
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, total


class GateAccumulator(Accumulator):
    """Sums the absolute gate estimate of every head over inputs.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})

    def declare(self) -> Declared:
        """Declare the sums."""
        return {GATE: total("layer", "head")}

    def update(self, tile: AttentionTile) -> None:
        """Add the estimates of a layer's heads."""
        if tile.start == 0 and tile.effects is not None and tile.effects.gate is not None:
            self.add(tile, gate=tile.effects.gate.abs().nan_to_num(0.0, 0.0, 0.0))

    def compute(self) -> dict[str, NDArray[np.float64]]:
        """Return the sums over inputs by kind of attention, `[layer, head]`; 0 for a model without a gradient."""
        return {part.kind: self.totals[f"{GATE}.{part.kind}"] for part in self.layout}


def chosen_heads(estimates: dict[str, NDArray[np.float64]], number: int, *, seed: int) -> Heads:
    """Choose heads: one half has the largest estimates, the other half is drawn by hash.

    Args:
        estimates: estimates by kind of attention, `[layer, head]`.
        number: number of heads; all heads if the model has fewer.
        seed: seed of the random draw.
    """
    estimate_of = {
        ((kind, layer), head): float(values[layer, head])
        for kind, values in estimates.items()
        for layer, head in np.ndindex(*values.shape)
    }
    lot_of = {
        ((kind, layer), head): blake2b(f"{seed}/{kind}/{layer}/{head}/effects".encode(), digest_size=8).digest()
        for (kind, layer), head in estimate_of
    }
    by_estimate = sorted(estimate_of, key=lambda each: (-estimate_of[each], lot_of[each]))
    largest = number_of_largest(min(number, len(by_estimate)))
    others = sorted(by_estimate[largest:], key=lambda each: lot_of[each])
    by_layer: dict[Layer, list[int]] = {}
    for layer, head in sorted([*by_estimate[:largest], *others[: number - largest]], key=lambda each: each[1]):
        by_layer.setdefault(layer, []).append(head)
    return by_layer


def number_of_largest(number: int) -> int:
    """Return the number of heads with the largest estimates among the chosen heads."""
    return -(-number // 2)
