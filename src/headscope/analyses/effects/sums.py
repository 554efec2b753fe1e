"""Sums of the effects of changing each head on the model's predictions, by document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.effects.tables import ATTRIBUTION, COMPENSATION, DIVERGENCE, GATE, LOGIT, LOSS, OV_COPYING
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.statistics.inference.confidence import Interval, Scale, ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import p_either_side
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, largest, summed

SCORE = "score"
"""The change of a user's score; in tables its measure has the name of the user's function."""


@dataclass(frozen=True)
class EffectResult:
    """Effects of the heads of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        intervals: known effects by measure, `[layer, head]` each: `LOSS` and `DIVERGENCE` in nats, `SCORE`, the
            first-order estimates, and the effects on logits.
        p: p-values of two-sided tests that the added loss is 0, and that the score does not change, `[layer, head]`
            each; NaN with few documents.
        spread: standard deviation of the added loss over documents of the mean size, nats, `[layer, head]`.
        n_inputs: number of inputs.
        n_documents: number of documents, or of groups of them.
    """

    kind: str
    intervals: Mapping[str, Interval]
    p: Mapping[str, NDArray[np.float64]]
    spread: NDArray[np.float64]
    n_inputs: int
    n_documents: int


class EffectsAccumulator(Accumulator):
    """Sums the effects of heads (the mean over each input's targets) by group of documents.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})

    def declare(self) -> Declared:
        """Declare the sums of effects, and the numbers of inputs."""
        return {
            "effect": summed("layer", "head", len(MEASURES)),
            "n_effect": counted("layer", "head"),
            "score": summed("layer", "head"),
            "n_score": counted("layer", "head"),
            "n_inputs": counted("layer"),
            "attribution": summed("layer", "head"),
            "n_attribution": counted("layer", "head"),
            "gate": summed("layer", "head"),
            "n_gate": counted("layer", "head"),
            "direct": summed("layer", "head", len(DIRECT)),
            "n_direct": counted("layer", "head", len(DIRECT)),
            "ov_copying": largest("layer", "head"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the effects of a layer's heads on each input, of those that were measured."""
        effects = tile.effects
        if tile.start or effects is None:
            return
        self.add(tile, n_inputs=1)
        if effects.heads is not None:
            effect = effects.heads[:, :, 0]
            # Heads that were not changed have NaN.
            known = effect[..., 0].isfinite()
            self.add(tile, effect=effect[..., : len(MEASURES)].nan_to_num(0.0), n_effect=known)
            if effect.shape[-1] > len(MEASURES):
                self.add(tile, score=effect[..., len(MEASURES)].nan_to_num(0.0), n_score=known)
        # A gradient may overflow where the loss does not.
        if effects.attribution is not None:
            first = effects.attribution[..., 0]
            self.add(tile, attribution=first.nan_to_num(0.0, 0.0, 0.0), n_attribution=first.isfinite())
        if (gate := effects.gate) is not None:
            self.add(tile, gate=gate.abs().nan_to_num(0.0, 0.0, 0.0), n_gate=gate.isfinite())
        if (direct := effects.direct) is not None:
            self.add(tile, direct=direct.nan_to_num(0.0), n_direct=direct.isfinite())
        if effects.ov_copying is not None:
            self.add(tile, ov_copying=effects.ov_copying[None])

    def compute(self) -> tuple[EffectResult, ...]:
        """Compute the effects of each kind with their intervals over documents."""
        stacked = self.sums.stacked()
        return tuple(self._result(part.kind, stacked) for part in self.layout)

    def _result(self, kind: str, stacked: Mapping[str, NDArray[Any]]) -> EffectResult:
        """Compute the known measures of a kind of attention."""
        added, divergence, logit = np.moveaxis(stacked[f"effect.{kind}"], -1, 0)
        counts, inputs = stacked[f"n_effect.{kind}"], stacked[f"n_inputs.{kind}"][:, 0]
        measures: dict[str, tuple[NDArray[Any], NDArray[Any], Scale]] = {
            LOSS: (added, counts, "real"),
            DIVERGENCE: (divergence, counts, "positive"),
        }
        others: Mapping[str, Scale] = {SCORE: "real", ATTRIBUTION: "real", GATE: "positive"}
        for name, scale in others.items():
            if (number := stacked[f"n_{name}.{kind}"]).any():
                measures[name] = stacked[f"{name}.{kind}"], number, scale
        if stacked[f"n_direct.{kind}"].any():
            direct, copying = np.moveaxis(stacked[f"direct.{kind}"], -1, 0)
            n_direct, n_copying = np.moveaxis(stacked[f"n_direct.{kind}"], -1, 0)
            measures |= {
                LOGIT: (logit, counts, "real"),
                DIRECT[0]: (direct, n_direct, "real"),
                COMPENSATION: (direct - logit, counts, "real"),
                DIRECT[1]: (copying, n_copying, "real"),
            }
        intervals = {name: ratio_interval(sums, n, scale=scale) for name, (sums, n, scale) in measures.items()}
        scores = self.totals[f"ov_copying.{kind}"]
        if np.isfinite(scores).all():
            # Weights are not a sample, so that the score has no interval.
            without = np.full(scores.shape, np.nan)
            intervals[OV_COPYING] = Interval(value=scores, low=without, high=without)
        tested = {name: ratio(*measures[name][:2]) for name in (LOSS, SCORE) if name in measures}
        documents = int((inputs > 0).sum())
        return EffectResult(
            kind=kind,
            intervals=intervals,
            p={name: p_either_side(estimate) for name, estimate in tested.items()},
            spread=tested[LOSS].error * np.sqrt(documents),
            n_inputs=int(inputs.sum()),
            n_documents=documents,
        )
