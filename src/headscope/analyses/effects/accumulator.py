"""Sums of what changing each head does to the model's predictions, by document."""

from collections.abc import Mapping
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
from headscope.statistics.sums.kept import Declared, counted, largest, summed

ATTRIBUTION, GATE = "attribution", "gate"
"""First-order estimates of the added loss: of what is done to the head, and the size of that of writing nothing."""
LOGIT, COMPENSATION, OV_COPYING = "logit", "compensation", "ov_copying"
"""What the right token's logit loses without a head, and how much less that is than what the head adds by itself; the
copying score of weights alone."""


@dataclass(frozen=True)
class EffectResult:
    """Effects of the heads of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        added_loss: nats, `[layer, head]`.
        divergence: KL(p || p changed), nats, `[layer, head]`.
        score: how much a user's score changes, `[layer, head]`; None where there is none.
        p: of tests that the added loss is not 0, and that the score does not change, on both sides, `[layer, head]`
            each; NaN with few documents.
        estimates: first-order estimates, `[layer, head]` each: `ATTRIBUTION` and `GATE`, as far as they are known.
        spread: standard deviation of the added loss over documents of the mean size, nats, `[layer, head]`.
        direct: on logits, `[layer, head]` each: `LOGIT`, those of `DIRECT`, `COMPENSATION` and `OV_COPYING`, as far
            as they are known.
        n_inputs: number of inputs.
        n_documents: number of documents, or of groups of them.
    """

    kind: str
    added_loss: Interval
    divergence: Interval
    score: Interval | None
    p: tuple[NDArray[np.float64], ...]
    spread: NDArray[np.float64]
    estimates: Mapping[str, Interval]
    direct: Mapping[str, Interval]
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
        """Return each kind's effects with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, counts = stacked[f"effect.{part.kind}"], stacked[f"n_effect.{part.kind}"]
            inputs = stacked[f"n_inputs.{part.kind}"][:, 0]
            added, divergence, logit = (sums[..., number] for number in range(len(MEASURES)))
            scores, n_scores = stacked[f"score.{part.kind}"], stacked[f"n_score.{part.kind}"]
            scored = bool(n_scores.any())
            estimate = ratio(added, counts)
            documents = int((inputs > 0).sum())
            results.append(
                EffectResult(
                    kind=part.kind,
                    added_loss=ratio_interval(added, counts, scale="real"),
                    divergence=ratio_interval(divergence, counts, scale="positive"),
                    score=ratio_interval(scores, n_scores, scale="real") if scored else None,
                    p=(p_either_side(estimate), *([p_either_side(ratio(scores, n_scores))] if scored else ())),
                    spread=estimate.error * np.sqrt(documents),
                    estimates=_estimates(stacked, part.kind),
                    direct={
                        **_on_logits(logit, counts, stacked[f"direct.{part.kind}"], stacked[f"n_direct.{part.kind}"]),
                        **_of_weights(self.totals[f"ov_copying.{part.kind}"]),
                    },
                    n_inputs=int(inputs.sum()),
                    n_documents=documents,
                )
            )
        return tuple(results)


def _estimates(stacked: Mapping[str, NDArray[Any]], kind: str) -> dict[str, Interval]:
    """Return first-order estimates of a kind with intervals over documents; none that were not measured."""
    scales: Mapping[str, Scale] = {ATTRIBUTION: "real", GATE: "positive"}
    return {
        name: ratio_interval(stacked[f"{name}.{kind}"], counts, scale=scale)
        for name, scale in scales.items()
        if (counts := stacked[f"n_{name}.{kind}"]).any()
    }


def _on_logits(
    logit: NDArray[np.float64], counts: NDArray[Any], direct: NDArray[np.float64], numbers: NDArray[Any]
) -> dict[str, Interval]:
    """Return effects on logits with intervals over documents; none where direct effects are not known.

    Args:
        logit: what is lost without each head, `[document, layer, head]`, and `counts` of how many inputs.
        direct: what each head adds by itself, `[document, layer, head, DIRECT]`, and `numbers` of how many inputs.
    """
    if not numbers.any():
        return {}
    by_name = {
        name: ratio_interval(direct[..., index], numbers[..., index], scale="real") for index, name in enumerate(DIRECT)
    }
    return {
        LOGIT: ratio_interval(logit, counts, scale="real"),
        DIRECT[0]: by_name[DIRECT[0]],
        COMPENSATION: ratio_interval(direct[..., 0] - logit, counts, scale="real"),
        DIRECT[1]: by_name[DIRECT[1]],
    }


def _of_weights(scores: NDArray[np.float64]) -> dict[str, Interval]:
    """Return the copying scores of weights, which have no interval; none where they are not known."""
    if not np.isfinite(scores).all():
        return {}
    without = np.full(scores.shape, np.nan)
    return {OV_COPYING: Interval(value=scores, low=without, high=without)}
