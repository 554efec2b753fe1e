"""Both ends of an interval on each scale: Student's t, wider on the side where documents have a tail.

The estimate and its error are both too small if the few documents in the tail were not drawn, so that a symmetric
interval misses on that side. The first term of the Edgeworth expansion of Student's t gives the required shift (Johnson
1978, Hall 1992). The scale, Wilson's or the logarithm, already bends and shifts the interval, and this shift is
subtracted. Only the side of the tail moves: the other side is conservative.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.estimate import Estimate

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

UNSEEN_TAIL = 9.0
"""Skewness missing in the documents, times the root of the degrees of freedom; fitted by simulation."""


def real_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for any real value: Student's t, as in the tests of differences."""
    reach = quantile_of(estimate, confidence) * estimate.error
    return estimate.value - reach, estimate.value + reach


def positive_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for a positive value, on its logarithm; a value of 0 in every document has no error."""
    relative = np.where(estimate.value > 0, estimate.error / estimate.value, 0.0)
    down, up = _reaches(estimate, confidence, bend=relative / 2, unseen=np.full_like(relative, UNSEEN_TAIL))
    return estimate.value * np.exp(-down * relative), estimate.value * np.exp(up * relative)


def share_ends(estimate: Estimate, counts: NDArray[Any], *, confidence: float) -> Ends:
    """Return Wilson's ends for a share, with the effective number of answers, which would vary as the documents do.

    The skewness of single right and wrong answers is known, and Wilson's interval includes it: the closer the variation
    of documents is to that of answers, the less of a tail can be unseen. If all answers are right, or all wrong, the
    data does not show how documents differ, and each answer counts.

    Args:
        estimate: estimate of the share.
        counts: number of answers behind the share, of its shape.
        confidence: confidence level of the interval.
    """
    share = np.clip(estimate.value, 0.0, 1.0)
    spread = share * (1 - share)
    inside = spread > 1e-12  # a share of 1 up to rounding counts as all right
    varies = inside & (estimate.error > 0)
    answers = np.where(varies, spread / np.where(varies, estimate.error, 1.0) ** 2, counts)
    # Every document has the same share, neither all right nor all wrong: nothing varies.
    answers = np.where(inside & ~varies, np.inf, answers)
    likeness = np.minimum(answers / counts, counts / answers)
    bend = np.where(varies, (1 - 2 * share) * estimate.error / np.where(varies, 2 * spread, 1.0), 0.0)
    down, up = _reaches(estimate, confidence, bend=bend, unseen=UNSEEN_TAIL * (1 - likeness**2))
    # Rounding must not put the value outside the interval.
    low = np.minimum(_wilson(share, answers, -down), share)
    high = np.maximum(_wilson(share, answers, up), share)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _wilson(
    share: NDArray[np.float64], answers: NDArray[np.float64], reach: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the end of Wilson's score interval at a distance of `reach` errors, the lower end if it is negative."""
    pull = reach**2 / answers
    return (share + pull / 2 + reach * np.sqrt(share * (1 - share) / answers + pull / (4 * answers))) / (1 + pull)


def _reaches(estimate: Estimate, confidence: float, *, bend: NDArray[np.float64], unseen: NDArray[np.float64]) -> Ends:
    """Return the reach of an interval down and up, in errors.

    Args:
        estimate: estimate with its skewness.
        confidence: confidence level of the interval.
        bend: shift of the interval by the scale, in errors, over the square of the quantile.
        unseen: skewness that documents do not show, times the root of the degrees of freedom.
    """
    from scipy.special import ndtri

    times, normal = quantile_of(estimate, confidence), float(ndtri(1 - (1 - confidence) / 2))
    skew = assumed_skew(estimate, unseen)
    tail = skew * (2 * normal**2 + 1) / (6 * normal)
    shift = tail - bend * normal
    # At most twice the correction for the tail: the bend alone moves nothing, or ends would jump at skewness zero.
    down = np.clip(-shift, 0.0, np.maximum(-2 * tail, 0.0))
    up = np.clip(shift, 0.0, np.maximum(2 * tail, 0.0))
    return times * (1 + down), times * (1 + up)


def assumed_skew(estimate: Estimate, unseen: NDArray[np.float64] | float = UNSEEN_TAIL) -> NDArray[np.float64]:
    """Return the skewness of an estimate, including the part that its documents do not show.

    Args:
        estimate: estimate with the skewness that its documents show.
        unseen: additional relative skewness, times the root of the degrees of freedom.
    """
    return np.asarray(estimate.skew * (1 + unseen / np.sqrt(estimate.freedom)))


def quantile_of(estimate: Estimate, confidence: float) -> NDArray[np.float64]:
    """Return the reach of a Student's t interval to either side, in errors."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(estimate.freedom, 1 - (1 - confidence) / 2))
