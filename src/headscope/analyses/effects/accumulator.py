"""Sums of what changing each head does to the model's predictions, by document."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import p_above
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed


@dataclass(frozen=True)
class EffectResult:
    """Effects of the heads of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        added_loss: nats, `[layer, head]`.
        divergence: KL(p || p changed), nats, `[layer, head]`.
        p: of a test that the added loss is not 0, on both sides, `[layer, head]`; NaN with few documents.
        spread: standard deviation of the added loss over documents of the mean size, nats, `[layer, head]`.
        n_inputs: number of inputs.
        n_documents: number of documents, or of groups of them.
    """

    kind: str
    added_loss: Interval
    divergence: Interval
    p: NDArray[np.float64]
    spread: NDArray[np.float64]
    n_inputs: int
    n_documents: int


class EffectsAccumulator(Accumulator):
    """Sums the effects of heads, each input's mean over its targets, by group of documents.

    Args:
        layout: the kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})

    def declare(self) -> Declared:
        """Declare the sums of effects, and the numbers of inputs."""
        return {"effect": summed("layer", "head", len(MEASURES)), "n_inputs": counted("layer")}

    def update(self, tile: AttentionTile) -> None:
        """Add the effects of a layer's heads on each input."""
        if tile.start == 0 and tile.effects is not None:
            self.add(tile, effect=tile.effects.heads[:, :, 0], n_inputs=1)

    def compute(self) -> tuple[EffectResult, ...]:
        """Return each kind's effects with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, counts = stacked[f"effect.{part.kind}"], stacked[f"n_inputs.{part.kind}"][:, :, None]
            added, divergence = (sums[..., number] for number in range(len(MEASURES)))
            estimate = ratio(added, counts)
            above, below = (p_above(each) for each in (estimate, ratio(-added, counts)))
            documents = int((counts[:, 0, 0] > 0).sum()) if len(counts) else 0
            results.append(
                EffectResult(
                    kind=part.kind,
                    added_loss=ratio_interval(added, counts, scale="real"),
                    divergence=ratio_interval(divergence, counts, scale="positive"),
                    p=np.minimum(1.0, 2 * np.minimum(above, below)),
                    spread=estimate.error * np.sqrt(documents),
                    n_inputs=int(counts[:, 0].sum()),
                    n_documents=documents,
                )
            )
        return tuple(results)
