"""The schedule of a learning rate: it falls, and training ends, only after the loss has stopped falling."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Falling:
    """Parameters of the schedule by which a rate falls.

    Attributes:
        least_gain: smallest decrease of the loss in an epoch that counts as progress, in the unit of the loss.
        factor: factor by which the rate falls.
        falls: smallest number of falls.
    """

    least_gain: float = 0.002
    factor: float = 0.25
    falls: int = 3


class Plateau:
    """The learning rate of one run, which falls when its loss stops falling.

    At every rate the run continues until its loss has stopped falling; then it returns to its best weights and
    continues from them at a lower rate. It ends with a rate that gained nothing over the one before, so that the best
    epoch is never one of a rate that was still too high.

    Args:
        schedule: schedule by which the rate falls.

    Attributes:
        share: rate of the next epoch as a share of the first rate.
        best: epoch of the lowest loss, from 1; 0 before any.
        lowest: lowest loss.
        done: True if training has ended.
    """

    def __init__(self, schedule: Falling) -> None:
        self.schedule = schedule
        self.share, self.best, self.lowest, self.done = 1.0, 0, float("inf"), False
        self._epoch, self._fallen, self._before = 0, 0, float("inf")

    def tell(self, loss: float) -> tuple[bool, bool]:
        """Record the loss after an epoch; return whether it is the lowest, and whether to go back to the lowest.

        A NaN or infinite loss counts as no progress.
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
