"""Adam for several runs side by side, each at its own rate."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

_OF_MEAN, _OF_SQUARE, _LEAST = 0.9, 0.999, 1e-8


class RunAdam:
    """Kingma and Ba 2015, algorithm 1, on parameters whose first axis is the runs.

    Args:
        parameters: `[run, ...]` each.
        runs: number of runs.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], runs: int) -> None:
        self.parameters = list(parameters)
        self._means = [torch.zeros_like(each) for each in self.parameters]
        self._squares = [torch.zeros_like(each) for each in self.parameters]
        self._steps = torch.zeros(runs, dtype=torch.float64)

    def forget_gradients(self) -> None:
        """Clear the gradients before a step."""
        for each in self.parameters:
            each.grad = None

    @torch.no_grad()
    def step(self, rates: Tensor) -> None:
        """Move each run by its gradient.

        Args:
            rates: `[run]` float64, on the CPU; a run with rate 0 does not move.
        """
        self._steps += 1
        # Both means begin at 0, so both are bias-corrected.
        size = rates / (1 - _OF_MEAN**self._steps)
        spread = (1 - _OF_SQUARE**self._steps).sqrt()
        for each, mean, square in zip(self.parameters, self._means, self._squares):
            if each.grad is None:
                continue
            mean.lerp_(each.grad, 1 - _OF_MEAN)
            square.mul_(_OF_SQUARE).addcmul_(each.grad, each.grad, value=1 - _OF_SQUARE)
            below = (square.sqrt() / _by_run(spread, each)).add_(_LEAST)
            each.sub_(mean / below * _by_run(size, each))

    @torch.no_grad()
    def forget(self, run: int) -> None:
        """Reset a run's moments, because gradients at other weights do not apply to its present weights."""
        self._steps[run] = 0
        for each in (*self._means, *self._squares):
            each[run] = 0


def _by_run(values: Tensor, like: Tensor) -> Tensor:
    return values.to(like.dtype).to(like.device).view(-1, *[1] * (like.dim() - 1))
