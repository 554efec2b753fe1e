"""What measuring effects takes, said after the first batch: passes, minutes, and documents for a small effect."""

import math
from collections.abc import Sequence

import torch

from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.outcome import MEASURES, HeadEffects
from headscope.counted import count
from headscope.scans.progress import Watcher, note_early
from headscope.statistics.inference.worth_saying import LEAST_LOSS

_REACH = 1.96 + 0.84
"""Standard errors that an effect must be away from 0, to be found in 80% of runs by a test at 5%."""


class Forecast:
    """Tells a watcher once, after the first batch, how long the whole takes.

    Args:
        watch: the watcher; None where nobody listens.
        inputs: how many there are.
        what: is measured.
    """

    def __init__(self, watch: Watcher | None, inputs: int, *, what: str = "effects") -> None:
        self._watch, self._inputs, self._what, self._told = watch, inputs, what, False

    def __call__(self, source: EffectSource, effects: Sequence[HeadEffects], seconds: float) -> None:
        """Take what a batch took.

        Args:
            source: knows the passes that each input takes.
            effects: of the batch, by layer.
            seconds: that it took.
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
    """Return how many passes an input takes, in words."""
    back = f" and {count(backward, 'backward pass', 'backward passes')}" if backward else ""
    return f"{forward:,.1f} forward passes{back}"


def documents_needed(spread: float, *, effect: float = LEAST_LOSS) -> int | None:
    """Return how many documents it takes to find an effect in 80% of runs, by a test at 5%.

    Args:
        spread: standard deviation of the effect over documents, nats.
        effect: to be found, nats.

    Returns:
        None where the spread is not known.
    """
    if not math.isfinite(spread):
        return None
    return max(2, math.ceil((_REACH * spread / effect) ** 2))


def _median_spread(effects: Sequence[HeadEffects]) -> float:
    """Return the standard deviation over inputs of what the median head adds; NaN of one input, and without heads."""
    added = [layer.heads[:, :, 0, MEASURES.index("loss")] for layer in effects if layer.heads is not None]
    if not added or len(added[0]) < 2:
        return math.nan
    return float(torch.cat([each.std(0) for each in added]).nanmedian())
