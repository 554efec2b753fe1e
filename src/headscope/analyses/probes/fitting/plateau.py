"""When a rate falls, and when training ends: not before the loss has stopped falling at a rate that has fallen."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Falling:
    """How a rate falls.

    Attributes:
        least_gain: a loss that an epoch takes off less than this from has stopped falling, in the loss's own unit.
        factor: of the rate's fall.
        falls: how often it falls at least.
    """

    least_gain: float = 0.002
    factor: float = 0.25
    falls: int = 3


class Plateau:
    """The learning rate of one run, which falls when its loss stops falling.

    At every rate the run goes on until its loss has stopped falling; then it goes back to where it was best and on
    from there at a lower rate. It ends with a rate that gained nothing over the one before, so that the best epoch is
    never one of a rate that was still too high to tell.

    Args:
        schedule: how the rate falls.

    Attributes:
        share: of the first rate that the next epoch has.
        best: epoch of the lowest loss, from 1; 0 before any.
        lowest: that loss.
        done: whether training has ended.
    """

    def __init__(self, schedule: Falling) -> None:
        self.schedule = schedule
        self.share, self.best, self.lowest, self.done = 1.0, 0, float("inf"), False
        self._epoch, self._fallen, self._before = 0, 0, float("inf")

    def tell(self, loss: float) -> tuple[bool, bool]:
        """Take the loss after an epoch; return whether it is the lowest, and whether to go back to the lowest.

        A loss that is no number is no progress.
        """
        self._epoch += 1
        if self.done:
            return False, False
        gained = self.lowest - loss if np.isfinite(loss) else -1.0
        if better := gained > 0:
            self.lowest, self.best = loss, self._epoch
        if gained >= self.schedule.least_gain:
            return better, False
        if self._fallen >= self.schedule.falls and not self._before - self.lowest >= self.schedule.least_gain:
            self.done = True
        else:
            self._fallen, self._before = self._fallen + 1, self.lowest
            self.share *= self.schedule.factor
        return better, not better
