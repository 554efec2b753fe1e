"""Estimate the remaining time of a run from the inputs that it has timed so far."""

import time
from collections.abc import Callable, Collection, Sequence

from headscope.scans.progress import Progress

_TOKEN = 0.0005
"""Seconds per token of the pass over the demonstration's text, on the machine of the stages' costs."""
_SAMPLE = 64
"""Number of inputs that most stages draw from a text of at least that size."""
_SAMPLE_TOKENS = 8192
"""Number of tokens in these inputs of the demonstration."""
_FIXED = 0.3
"""The share of a text stage's cost that does not depend on the sample."""
_PRIOR = 0.7
"""Seconds at that machine's speed that are added to the timings, because a first batch is slower than the others."""


class TimeLeft:
    """Estimate the remaining seconds of a run.

    A cost is a number of seconds on one machine. The first pass over the text, and each finished step, show how much
    slower or faster this machine computes this model.

    Args:
        costs: cost of each step, without the pass over the text.
        of_text: indices of the steps whose cost depends on the text.
        tokens: function that returns the number of tokens that the pass over the text has read.
        text_step: index of the step that reads the text for all steps; None if there is none.
        clock: function that returns the time in seconds.
    """

    def __init__(
        self,
        costs: Sequence[float],
        *,
        of_text: Collection[int],
        tokens: Callable[[], int],
        text_step: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._costs, self._text_step, self._clock = list(costs), text_step, clock
        self._of_text, self._tokens = of_text, tokens
        self._timed = self._expected = _PRIOR
        self._step, self._began = 0, clock()
        self._pass_seconds = self._pass_left = 0.0
        self._pass_tokens = 0
        self._pass_ended = False

    def seconds(self, step: int, progress: Progress) -> float:
        """Return the estimated remaining seconds.

        Args:
            step: index of the current step.
            progress: progress of the current step.
        """
        now = self._clock()
        if step != self._step:
            self._timed += now - self._began - (self._pass_seconds if self._step == self._text_step else 0.0)
            self._expected += sum(self._costs[self._step : step])
            self._step, self._began = step, now
        if step == self._text_step and progress.share and not self._pass_ended:
            self._pass_seconds, self._pass_tokens = progress.seconds, self._tokens()
            self._pass_left = progress.seconds * (1 - progress.share) / progress.share
            if progress.share == 1.0:
                self._pass_ended = True
                self._fit_to_sample(progress.segments)
        rate = (self._timed + self._pass_seconds) / (self._expected + self._pass_tokens * _TOKEN)
        spent = now - self._began - (self._pass_seconds if step == self._text_step else 0.0)
        here = max(rate * self._costs[step] - spent, 0.0) + self._pass_left
        return here + rate * sum(self._costs[step + 1 :])

    def _fit_to_sample(self, inputs: int) -> None:
        """Lower the costs of the text stages if the text is shorter than the sample that they draw."""
        sample = self._pass_tokens * min(1.0, _SAMPLE / max(1, inputs))
        factor = _FIXED + (1 - _FIXED) * min(1.0, sample / _SAMPLE_TOKENS)
        self._costs = [cost * factor if n in self._of_text else cost for n, cost in enumerate(self._costs)]
