"""Newton's method held back where it cannot be trusted: Levenberg 1944, Marquardt 1963."""

import torch
from torch import Tensor

# Shares of the predicted gain above and below which the curvature is trusted more, and less.
_GOOD, _POOR = 0.75, 0.25
_EASE, _TIGHTEN, _REFUSED = 0.25, 2.0, 8.0
_RIDGE = 1e-6  # of the curvature's diagonal: what no data speaks of stays where it is


class Levenberg:
    """Minimises a function that is never below 0, told its value, gradient and curvature where it asks for them.

    Args:
        start: where to begin, `[parameter]` float64.
        tolerance: how far above its minimum the function may end, by its own estimate.

    Attributes:
        at: where the function is to be measured next.
        point: the best place so far.
        value: of the function there.
        gap: how far that is above the minimum, as a quadratic there would have it: half g' H^-1 g; the value itself
            where that is less.
        done: whether the gap is within the tolerance.
    """

    def __init__(self, start: Tensor, *, tolerance: float) -> None:
        self.at = self.point = start
        self.tolerance = tolerance
        self.value = self.gap = float("inf")
        self.done = False
        self._damping, self._predicted = 1.0, 0.0
        self._slope = (start, torch.eye(0))

    def tell(self, value: float, gradient: Tensor, curvature: Tensor) -> None:
        """Take what the function is at `at`, and choose the next place.

        Args:
            value: of the function.
            gradient: `[parameter]` float64.
            curvature: its second derivatives, or what stands for them, `[parameter, parameter]` float64.
        """
        if self.done:
            return
        if value < self.value:
            self._trust((self.value - value) / self._predicted if self._predicted else 0.5)
            self.point, self.value, self._slope = self.at, value, (gradient, curvature)
            whole = self._step(_RIDGE)
            # Where the curvature is not that of a bowl nothing is known of the bottom but that it is not below 0.
            self.gap = value if whole is None else min(value, float(0.5 * gradient @ whole))
            self.done = self.gap <= self.tolerance
        else:
            self._damping *= _REFUSED
        while (step := self._step(self._damping)) is None:
            self._damping *= _REFUSED
        own, bend = self._slope
        self._predicted = float(own @ step - 0.5 * step @ bend @ step)
        self.at = self.point if self.done else self.point - step

    def _trust(self, share: float) -> None:
        if share > _GOOD:
            self._damping = max(self._damping * _EASE, _RIDGE)
        elif share < _POOR:
            self._damping *= _TIGHTEN

    def _step(self, damping: float) -> Tensor | None:
        """Return the damped step, or None where that is not downhill in every direction."""
        gradient, curvature = self._slope
        own = curvature.diagonal()
        held = damping * own.clamp(min=1e-9 * float(own.max()) + 1e-15)
        factor, failed = torch.linalg.cholesky_ex(curvature + torch.diag(held))
        if failed:
            return None
        return torch.cholesky_solve(gradient[:, None], factor)[:, 0]
