"""Sums of the added loss when attention is replaced, by document: for single heads, layers and the whole model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.inference.derived import effect_ratio_interval
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed

REPLACEMENTS = ("uniform", "explained", "positions")
"""The replacements of attention, in the order of the sums."""
_LOSS = MEASURES.index("loss")


@dataclass(frozen=True)
class KeptEffect:
    """The effect of attention that is kept when its explanation replaces it.

    Attributes:
        added: added loss with each of `REPLACEMENTS`, nats, `[..., replacement]`.
        kept: (L_uniform - L_explained) / (L_uniform - L), `[...]`; NaN where the denominator's interval is not above 0.
        over_positions: the same with the explanation by positions alone instead of uniform attention, `[...]`.
    """

    added: Interval
    kept: Interval
    over_positions: Interval


@dataclass(frozen=True)
class KeptResult:
    """The effects kept of a kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: effects of single heads, `[layer, head]`.
        layers: effects of all heads of a layer at once, `[layer]`.
        n_inputs: number of inputs.
    """

    kind: str
    heads: KeptEffect
    layers: KeptEffect
    n_inputs: int


class KeptAccumulator(Accumulator):
    """Sums the added losses of heads, layers and the model (the mean over each input's targets) by group of documents.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})

    def declare(self) -> Declared:
        """Declare the sums of added losses, and the numbers of inputs."""
        number = len(REPLACEMENTS)
        return {
            "heads": summed("layer", "head", number),
            "layers": summed("layer", number),
            # The same number comes with every layer, so that the last layer completes it.
            "model": summed("layer", number),
            "n_inputs": counted("layer"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the losses of a layer's heads on each input."""
        if tile.start != 0 or tile.effects is None:
            return
        effects = tile.effects
        assert effects.heads is not None
        assert effects.layer is not None
        assert effects.model is not None
        self.add(
            tile,
            heads=effects.heads[..., _LOSS],
            layers=effects.layer[..., _LOSS],
            model=effects.model[..., _LOSS],
            n_inputs=1,
        )

    def compute(self) -> tuple[tuple[KeptResult, ...], KeptEffect]:
        """Compute the effects kept of each kind's heads and layers, and of the whole model, with intervals."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            counts = stacked[f"n_inputs.{part.kind}"]
            results.append(
                KeptResult(
                    kind=part.kind,
                    heads=kept_effect(stacked[f"heads.{part.kind}"], counts[..., None, None]),
                    layers=kept_effect(stacked[f"layers.{part.kind}"], counts[..., None]),
                    n_inputs=int(counts[:, 0].sum()),
                )
            )
        first = self.layout[0].kind
        of_model = kept_effect(stacked[f"model.{first}"][:, 0], stacked[f"n_inputs.{first}"][:, 0, None])
        return tuple(results), of_model


def kept_effect(added: NDArray[np.float64], counts: NDArray[Any]) -> KeptEffect:
    """Compute the effects kept, with intervals over documents.

    Args:
        added: sums of added losses of each document, `[document, ..., replacement]`.
        counts: number of inputs of each document, which broadcasts to `added`.
    """
    uniform, explained, positions = np.moveaxis(added, -1, 0)
    inputs = counts[..., 0]
    return KeptEffect(
        added=ratio_interval(added, counts, scale="real"),
        kept=effect_ratio_interval(uniform - explained, uniform, inputs),
        over_positions=effect_ratio_interval(positions - explained, positions, inputs),
    )
