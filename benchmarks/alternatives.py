"""Alternative methods: the intervals and the test that the calibration is compared with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import resampling_weights
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.selection import halves
from headscope.statistics.inference.significance import p_above

RESAMPLES = 1000
Ends = tuple[NDArray[np.float64], NDArray[np.float64]]


def percentile(sums: NDArray[Any], counts: NDArray[Any]) -> Ends:
    """Return the percentile bootstrap's bounds of each column's ratio, `[document, column]`."""
    weights = resampling_weights(len(sums), resamples=RESAMPLES)
    low, high = np.percentile((weights @ sums) / (weights @ counts), [2.5, 97.5], axis=0)
    return low, high


def bootstrap_t(sums: NDArray[Any], counts: NDArray[Any]) -> Ends:
    """Return the bootstrap-t's bounds: resampled quantiles of the deviation in units of its own error."""
    weights = resampling_weights(len(sums), resamples=RESAMPLES)
    number = weights @ counts
    drawn = (weights @ sums) / number
    squares = weights @ sums**2 - 2 * drawn * (weights @ (sums * counts)) + drawn**2 * (weights @ counts**2)
    value = sums.sum(0) / counts.sum(0)
    error = np.sqrt(((sums - value * counts) ** 2).sum(0)) / counts.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (drawn - value) / (np.sqrt(np.maximum(squares, 0)) / number)
    high, low = np.percentile(np.where(np.isfinite(t), t, 0.0), [2.5, 97.5], axis=0)
    return value - low * error, value - high * error


def halves_p(hits: NDArray[Any], rivals: NDArray[Any], counts: NDArray[Any], *, seed: int = 0) -> NDArray[np.float64]:
    """Choose on one half, test on the other against every rival, both ways; twice the smaller, twice the median."""
    found = []
    for split in halves(len(hits), seed=seed):
        sides = []
        for own, other in ((split, ~split), (~split, split)):
            chosen = hits[own].sum(0).argmax(0)
            right = np.take_along_axis(hits[other], chosen[None, None], axis=1)
            estimate = ratio(right - rivals[other], counts[other][:, None])
            t = p_above(type(estimate)(estimate.value, estimate.error, estimate.freedom,
                                       np.full_like(estimate.documents, 10)))  # fmt: skip
            sides.append(t.max(0))
        found.append(2 * np.minimum(*sides))
    return np.minimum(1.0, 2 * np.median(found, axis=0))
