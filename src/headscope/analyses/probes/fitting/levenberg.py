"""Newton's method, damped if its prediction fails: Levenberg 1944, Marquardt 1963."""

import torch
from torch import Tensor

# Ratios of actual to predicted gain above and below which the damping is decreased or increased.
_GOOD, _POOR = 0.75, 0.25
_EASE, _TIGHTEN, _REFUSED = 0.25, 2.0, 8.0
_RIDGE = 1e-8  # fraction of the curvature's diagonal, so that weights without data do not move
_CLOSE = 0.01  # gap below which the whole curvature is used, not only its positive semi-definite part
_STUCK = 1e9  # damping at which steps are lost in rounding


class Levenberg:
    """Minimizes a nonnegative function from its value, gradient and curvature at points that it chooses.

    Args:
        start: initial point, `[parameter]` float64.
        tolerance: largest final excess over the minimum, by its own estimate.

    Attributes:
        at: the point at which the function is evaluated next.
        point: the best point so far.
        value: value of the function at that point.
        gap: its excess over the minimum, estimated by a local quadratic: half g' H^-1 g; the value itself where that
            is less.
        done: True if the gap is within the tolerance.
        stuck: True if no step decreases the function any more although the gap exceeds the tolerance.
    """

    def __init__(self, start: Tensor, *, tolerance: float) -> None:
        self.at = self.point = start
        self.tolerance = tolerance
        self.value = self.gap = float("inf")
        self.done = False
        self._damping, self._predicted = 1.0, 0.0
        self._slope = (start, torch.eye(0))

    @property
    def stuck(self) -> bool:
        """See `Levenberg`."""
        return not self.done and self._damping > _STUCK

    def tell(self, value: float, gradient: Tensor, curvature: Tensor, remainder: Tensor | None = None) -> None:
        """Record the function's value and derivatives at `at`, and choose the next point.

        Args:
            value: value of the function.
            gradient: `[parameter]` float64.
            curvature: the positive semi-definite part of its second derivatives, `[parameter, parameter]` float64; far
                from the minimum only this part is used.
            remainder: the other part, without which many last steps are needed and the gap is unknown; None for none.
        """
        if self.done or self.stuck:
            return
        if value < self.value:
            self._trust((self.value - value) / self._predicted if self._predicted else 0.5)
            self.point, self.value = self.at, value
            self._look(gradient, curvature, curvature if remainder is None else curvature + remainder)
            self.done = self.gap <= self.tolerance
        else:
            self._damping *= _REFUSED
        slope, bend = self._slope
        while (step := _damped(slope, bend, self._damping)) is None:
            self._damping *= _REFUSED
        self._predicted = float(slope @ step - 0.5 * step @ bend @ step)
        self.at = self.point if self.done else self.point - step

    def _look(self, gradient: Tensor, curvature: Tensor, whole: Tensor) -> None:
        down, straight = _damped(gradient, curvature, _RIDGE), _damped(gradient, whole, _RIDGE)
        near = self.value if down is None else float(0.5 * gradient @ down)
        # If the second derivatives are not positive definite, the only bound on the minimum is 0.
        ahead = self.value if straight is None else float(0.5 * gradient @ straight)
        self.gap = min(self.value, max(near, ahead))
        self._slope = (gradient, whole if near < _CLOSE else curvature)

    def _trust(self, share: float) -> None:
        if share > _GOOD:
            self._damping = max(self._damping * _EASE, _RIDGE)
        elif share < _POOR:
            self._damping *= _TIGHTEN


def _damped(gradient: Tensor, curvature: Tensor, damping: float) -> Tensor | None:
    """Return the damped step, or None if the damped curvature is not positive definite."""
    diagonal = curvature.diagonal()
    damped = damping * diagonal.clamp(min=1e-12 * float(diagonal.max()) + 1e-15)
    factor, failed = torch.linalg.cholesky_ex(curvature + torch.diag(damped))
    return None if failed else torch.cholesky_solve(gradient[:, None], factor)[:, 0]
