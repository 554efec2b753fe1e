"""A multinomial logit: attention predicted from features, by the softmax over the visible keys of their weighted sum.

The objective, the mean over rows of `sum_j a_ij log p_ij` less a ridge, is concave, so that Newton's method finds its
only maximum whatever it starts from, without a step size or a seed. A ridge of 1e-6 on every coefficient decides where
features separate keys perfectly.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Design, Floats

TOLERANCE = 1e-6
"""Of the gradient's largest entry, per row."""
RIDGE = 1e-6
_MOST_STEPS = 100
_MOST_HALVINGS = 40
_ENOUGH = 0.3
"""Second derivatives serve another step where the last one left this share of the gradient at most."""
_ROUNDING = 1e-6
_Float = TypeVar("_Float", bound=np.floating[Any])


@dataclass(frozen=True, eq=False)
class Target:
    """Attention to predict in some rows.

    Attributes:
        attention: of each cell; rows sum to `mass`.
        mass: of each row: 1, or 0 in rows without attention, which do not count.
    """

    attention: Floats
    mass: Floats

    @classmethod
    def of(cls, attention: NDArray[np.floating], design: Design) -> "Target":
        """Take the attention of a head, NaN or 0 throughout rows that do not count, `[cell]`."""
        clean = np.nan_to_num(attention.astype(np.float64), nan=0.0)
        mass = design.row_sums(clean)
        counts = mass > 0
        clean /= np.repeat(np.where(counts, mass, 1.0), design.lengths)
        return cls(clean, counts.astype(np.float64))

    @property
    def n_rows(self) -> float:
        """The number of rows that count."""
        return float(max(1.0, self.mass.sum()))


def log_softmax(logits: NDArray[_Float], design: Design) -> NDArray[_Float]:
    """Return logits less the logarithm of the sum of their exponentials in each row, `[cell]`."""
    shifted, _, totals = _exponentials(logits, design)
    return np.asarray(shifted - np.log(totals)[design.row_of])


def _exponentials(logits: NDArray[_Float], design: Design) -> tuple[NDArray[_Float], NDArray[_Float], NDArray[_Float]]:
    """Return logits less the largest of their row, their exponentials, `[cell]`, and the sums of these, `[row]`."""
    shifted = logits - np.maximum.reduceat(logits, design.starts)[design.row_of]
    exponentials = np.exp(shifted)
    return shifted, exponentials, design.row_sums(exponentials)


class Prediction:
    """The prediction that logits make of attention.

    Args:
        logits: `[cell]`; the prediction has their precision.
        target: the attention.
        design: rows and cells.

    Attributes:
        loss: cross entropy of attention and prediction, summed over rows, in nats.
    """

    def __init__(self, logits: NDArray[np.floating[Any]], target: Target, design: Design) -> None:
        self.logits, self._target, self._design = logits, target, design
        shifted, self._exponentials, self._totals = _exponentials(logits, design)
        logs = np.log(self._totals.astype(np.float64))
        self.loss = float(target.mass @ logs) - float(target.attention @ shifted)

    @cached_property
    def p(self) -> NDArray[np.floating[Any]]:
        """What is predicted; rows sum to their mass, `[cell]`."""
        scale = (self._target.mass / self._totals).astype(self.logits.dtype)
        return np.asarray(self._exponentials * scale[self._design.row_of])

    @property
    def error(self) -> NDArray[np.floating[Any]]:
        """The attention less what is predicted, `[cell]`."""
        return np.asarray(self._target.attention.astype(self.logits.dtype, copy=False) - self.p)

    def moved(self, step: NDArray[np.floating[Any]]) -> "Prediction":
        """Return the prediction of other logits.

        Args:
            step: what is added to the logits, `[cell]`.
        """
        return Prediction(self.logits + step, self._target, self._design)


def fit(columns: Columns, target: Target, start: Floats | None = None, *, tolerance: float = TOLERANCE) -> Floats:
    """Return the coefficients that predict attention best, `[column]`.

    Args:
        columns: the features.
        target: the attention.
        start: coefficients to start from, 0 when None.
        tolerance: of the gradient's largest entry.
    """
    rows, ridge = target.n_rows, RIDGE + columns.ridge / target.n_rows
    coefficients = np.zeros(len(columns.ridge)) if start is None else start.copy()
    at = Prediction(columns.logits(coefficients), target, columns.design)
    value = at.loss / rows + 0.5 * float(ridge @ coefficients**2)
    second: Floats | None = None
    before = 0.0
    for _ in range(_MOST_STEPS):
        gradient = columns.sums(at.error) / rows - ridge * coefficients
        largest = float(np.abs(gradient).max(initial=0.0))
        if largest <= tolerance:
            break
        # Second derivatives cost most: they are kept as long as steps by them bring the gradient down.
        fresh = False
        if second is None or largest > _ENOUGH * before:
            second, fresh = curvature(columns, at.p, rows, ridge), True
        step = np.linalg.solve(second, gradient).astype(np.float64, copy=False)
        along = columns.logits(step)
        before, times = largest, 1.0
        for _ in range(_MOST_HALVINGS):
            ahead, there = at.moved(along * at.logits.dtype.type(times)), coefficients + times * step
            next_value = ahead.loss / rows + 0.5 * float(ridge @ there**2)
            if next_value < value:
                break
            times /= 2
        else:
            if fresh:
                break  # nothing is gained any more but rounding
            second = None
            continue
        at, coefficients, value = ahead, there, next_value
    return coefficients


def curvature(columns: Columns, p: NDArray[np.floating[Any]], rows: float, ridge: Floats) -> Floats:
    """Return minus the matrix of second derivatives: the covariance of the columns under the prediction, and the ridge.

    Its rounding, in single precision, is added to the diagonal, so that every step ascends.
    """
    means, products = columns.moments(p)
    return (products - means.T @ means + _ROUNDING * np.diag(products.diagonal())) / rows + np.diag(ridge)
