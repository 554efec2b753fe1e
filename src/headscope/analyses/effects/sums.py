"""Sums of the effects of changing each head on the model's predictions, by document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.direct_effect import DIRECT
from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.statistics.inference.confidence import Interval, Scale, ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import p_either_side
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, largest, summed, total

LOSS, DIVERGENCE = "loss", "kl"
SCORE = "score"
"""The change of a user's score; in tables its measure has the name of the user's function."""
ATTRIBUTION, GATE = "attribution", "gate"
"""First-order estimates of the added loss: of the intervention on the head, and the absolute one for zero output."""
LOGIT, COMPENSATION, OV_COPYING = "logit", "compensation", "ov_copying"
"""The loss of the right token's logit without a head; the head's direct effect minus this loss; and the copying score
computed from weights alone."""


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
        """Add the effects of a layer's heads on each input."""
        if tile.start == 0 and tile.effects is not None:
            assert tile.effects.heads is not None
            effect = tile.effects.heads[:, :, 0]
            # Heads that were not changed have NaN.
            known = effect[..., 0].isfinite()
            self.add(tile, effect=effect[..., : len(MEASURES)].nan_to_num(0.0), n_effect=known, n_inputs=1)
            if effect.shape[-1] > len(MEASURES):
                self.add(tile, score=effect[..., len(MEASURES)].nan_to_num(0.0), n_score=known)
            # A gradient may overflow where the loss does not.
            if (attribution := tile.effects.attribution) is not None:
                first = attribution[..., 0]
                self.add(tile, attribution=first.nan_to_num(0.0, 0.0, 0.0), n_attribution=first.isfinite())
            if (gate := tile.effects.gate) is not None:
                self.add(tile, gate=gate.abs().nan_to_num(0.0, 0.0, 0.0), n_gate=gate.isfinite())
            if (direct := tile.effects.direct) is not None:
                self.add(tile, direct=direct.nan_to_num(0.0), n_direct=direct.isfinite())
            if (scores := tile.effects.ov_copying) is not None:
                self.add(tile, ov_copying=scores[None])

    def compute(self) -> tuple[EffectResult, ...]:
        """Compute the effects of each kind with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            ending = f".{part.kind}"
            arrays = {name.removesuffix(ending): each for name, each in stacked.items() if name.endswith(ending)}
            sums = {name: (values, counts, scale) for name, values, counts, scale in _sums(arrays)}
            estimates = {name: ratio(*sums[name][:2]) for name in (LOSS, SCORE) if name in sums}
            intervals = {
                name: ratio_interval(values, counts, scale=scale) for name, (values, counts, scale) in sums.items()
            }
            copying = self.totals[f"ov_copying{ending}"]
            if np.isfinite(copying).all():
                # Weights are not a sample, so that the score has no interval.
                without = np.full(copying.shape, np.nan)
                intervals[OV_COPYING] = Interval(value=copying, low=without, high=without)
            inputs = arrays["n_inputs"][:, 0]
            documents = int((inputs > 0).sum())
            results.append(
                EffectResult(
                    kind=part.kind,
                    intervals=intervals,
                    p={name: p_either_side(estimate) for name, estimate in estimates.items()},
                    spread=estimates[LOSS].error * np.sqrt(documents),
                    n_inputs=int(inputs.sum()),
                    n_documents=documents,
                )
            )
        return tuple(results)


def _sums(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], Scale]]:
    """Yield each known measure of a kind with its sums and its counts by document, and its scale."""
    added, divergence, logit = np.moveaxis(arrays["effect"], -1, 0)
    counts = arrays["n_effect"]
    yield LOSS, added, counts, "real"
    yield DIVERGENCE, divergence, counts, "positive"
    scales: Mapping[str, Scale] = {SCORE: "real", ATTRIBUTION: "real", GATE: "positive"}
    for name, scale in scales.items():
        if arrays[f"n_{name}"].any():
            yield name, arrays[name], arrays[f"n_{name}"], scale
    if arrays["n_direct"].any():
        direct, copying = np.moveaxis(arrays["direct"], -1, 0)
        n_direct, n_copying = np.moveaxis(arrays["n_direct"], -1, 0)
        yield LOGIT, logit, counts, "real"
        yield DIRECT[0], direct, n_direct, "real"
        yield COMPENSATION, direct - logit, counts, "real"
        yield DIRECT[1], copying, n_copying, "real"


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
