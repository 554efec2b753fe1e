"""Estimate how long a run still takes, from the inputs that it has timed so far."""

import time
from collections.abc import Callable, Sequence

from headscope.scans.progress import Progress

_INPUT = 0.066
"""Seconds that the pass over the demonstration's text takes for an input, on the machine of the stages' costs."""
_PRIOR = 0.7
"""Seconds at that machine's speed that are added to what was timed: a first batch is slower than the others."""


class TimeLeft:
    """Estimate the seconds that are left of a run.

    A cost is a number of seconds on one machine. The first pass over the text, and each finished step, show how much
    slower or faster this machine computes this model.

    Args:
        costs: of each step, besides the pass over the text.
        text_step: index of the step that reads the text for all steps; None where none does.
        clock: returns the time in seconds.
    """

    def __init__(
        self, costs: Sequence[float], *, text_step: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._costs, self._text_step, self._clock = costs, text_step, clock
        self._timed = self._expected = _PRIOR
        self._step, self._began = 0, clock()
        self._pass_seconds = self._pass_left = 0.0
        self._pass_inputs = 0
        self._pass_ended = False

    def seconds(self, step: int, progress: Progress) -> float:
        """Return the estimate.

        Args:
            step: index of the step that goes on.
            progress: of it.
        """
        now = self._clock()
        if step != self._step:
            self._timed += now - self._began - (self._pass_seconds if self._step == self._text_step else 0.0)
            self._expected += sum(self._costs[self._step : step])
            self._step, self._began = step, now
        if step == self._text_step and progress.share and not self._pass_ended:
            self._pass_seconds, self._pass_inputs = progress.seconds, progress.segments
            self._pass_left = progress.seconds * (1 - progress.share) / progress.share
            self._pass_ended = progress.share == 1.0
        rate = (self._timed + self._pass_seconds) / (self._expected + self._pass_inputs * _INPUT)
        spent = now - self._began - (self._pass_seconds if step == self._text_step else 0.0)
        here = max(rate * self._costs[step] - spent, 0.0) + self._pass_left
        return here + rate * sum(self._costs[step + 1 :])
