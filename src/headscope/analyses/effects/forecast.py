"""Forecast of the cost of measuring effects after the first batch: passes, minutes, and documents needed."""

import math
from collections.abc import Sequence

import torch

from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.outcome import MEASURES, HeadEffects
from headscope.counted import count
from headscope.scans.progress import Watcher, note_early
from headscope.statistics.inference.worth_saying import LEAST_LOSS

_REACH = 1.96 + 0.84
"""Distance of an effect from 0, in standard errors, at which a test at 5% finds it in 80% of runs."""


class Forecast:
    """Forecasts the total time to a watcher once, after the first batch.

    Args:
        watch: watcher that receives the forecast; None for no forecast.
        inputs: number of inputs.
        what: name of the measured quantity.
    """

    def __init__(self, watch: Watcher | None, inputs: int, *, what: str = "effects") -> None:
        self._watch, self._inputs, self._what, self._told = watch, inputs, what, False

    def __call__(self, source: EffectSource, effects: Sequence[HeadEffects], seconds: float) -> None:
        """Forecast the total time from a batch; later batches are ignored.

        Args:
            source: source that knows the number of passes per input.
            effects: effects of the batch, by layer.
            seconds: duration of the batch.
        """
        if self._told:
            return
        self._told = True
        inputs = len(effects[0].loss)
        minutes = seconds * self._inputs / inputs / 60
        needed = documents_needed(_median_spread(effects))
        more = ""
        if needed is not None:
            more = f"; about {count(needed, 'document')} show an effect of {LEAST_LOSS:g} nats"
        note_early(
            self._watch,
            f"{self._what} take {passes_of(source.passes, source.backward)} of {count(self._inputs, 'input')}, about "
            f"{minutes:,.1f} minutes by the first batch{more}",
        )


def passes_of(forward: float, backward: int) -> str:
    """Return the number of passes per input, in words."""
    back = f" and {count(backward, 'backward pass', 'backward passes')}" if backward else ""
    return f"{forward:,.1f} forward passes{back}"


def documents_needed(spread: float, *, effect: float = LEAST_LOSS) -> int | None:
    """Return the number of documents with which a test at 5% finds an effect in 80% of runs.

    Args:
        spread: standard deviation of the effect over documents, nats.
        effect: effect to be found, nats.

    Returns:
        The number of documents; None where the spread is not known.
    """
    if not math.isfinite(spread):
        return None
    return max(2, math.ceil((_REACH * spread / effect) ** 2))


def _median_spread(effects: Sequence[HeadEffects]) -> float:
    """Return the standard deviation of the added loss over inputs, the median over heads; NaN for one input or without
    heads."""
    added = [layer.heads[:, :, 0, MEASURES.index("loss")] for layer in effects if layer.heads is not None]
    if not added or len(added[0]) < 2:
        return math.nan
    return float(torch.cat([each.std(0) for each in added]).nanmedian())
