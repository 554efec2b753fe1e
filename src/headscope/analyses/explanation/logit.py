"""A multinomial logit: attention predicted from features, by the softmax over the visible keys of their weighted sum.

The objective, the mean over rows of `sum_j a_ij log p_ij` less a ridge, is concave, so that Newton's method finds its
only maximum whatever it starts from, without a step size or a seed. A ridge of 1e-6 on every coefficient decides where
features separate keys perfectly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Columns, Design, Floats

TOLERANCE = 1e-6
"""Of the gradient's largest entry, per row."""
RIDGE = 1e-6
_MOST_STEPS = 100
_MOST_HALVINGS = 40
_ENOUGH = 0.3
"""Second derivatives serve another step where the last one left this share of the gradient at most."""
_ROUNDING = 1e-6


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


def log_softmax(logits: Floats, design: Design) -> Floats:
    """Return logits less the logarithm of the sum of their exponentials in each row, `[cell]`."""
    lengths = design.lengths
    shifted = logits - np.repeat(np.maximum.reduceat(logits, design.starts), lengths)
    totals = design.row_sums(np.exp(shifted))
    return np.asarray(shifted - np.repeat(np.log(totals), lengths))


def fit(
    columns: Columns, target: Target, start: Floats | None = None, *, tolerance: float = TOLERANCE
) -> Floats:
    """Return the coefficients that predict attention best, `[column]`.

    Args:
        columns: the features.
        target: the attention.
        start: coefficients to start from, 0 when None.
        tolerance: of the gradient's largest entry.
    """
    rows, ridge = target.n_rows, RIDGE + columns.ridge / target.n_rows
    mass = np.repeat(target.mass, columns.design.lengths)
    coefficients = np.zeros(len(columns.ridge)) if start is None else start.copy()

    def objective(at: Floats) -> tuple[float, Floats]:
        log_p = log_softmax(columns.logits(at), columns.design)
        return float(target.attention @ log_p) / rows - 0.5 * float(ridge @ at**2), log_p

    value, log_p = objective(coefficients)
    second: Floats | None = None
    before = 0.0
    for _ in range(_MOST_STEPS):
        p = np.exp(log_p) * mass
        gradient = columns.sums(target.attention - p) / rows - ridge * coefficients
        largest = float(np.abs(gradient).max(initial=0.0))
        if largest <= tolerance:
            break
        # Second derivatives cost most: they are kept as long as steps by them bring the gradient down.
        fresh = False
        if second is None or largest > _ENOUGH * before:
            second, fresh = curvature(columns, p, rows, ridge), True
        step = np.linalg.solve(second, gradient)
        before = largest
        for _ in range(_MOST_HALVINGS):
            next_value, next_log_p = objective(coefficients + step)
            if next_value > value:
                break
            step = step / 2
        else:
            if fresh:
                break  # nothing is gained any more but rounding
            second = None
            continue
        coefficients, value, log_p = coefficients + step, next_value, next_log_p
    return coefficients


def curvature(columns: Columns, p: Floats, rows: float, ridge: Floats) -> Floats:
    """Return minus the matrix of second derivatives: the covariance of the columns under the prediction, and the ridge.

    Its rounding, in single precision, is added to the diagonal, so that every step ascends.
    """
    means, products = columns.moments(p)
    return (products - means.T @ means + _ROUNDING * np.diag(products.diagonal())) / rows + np.diag(ridge)
