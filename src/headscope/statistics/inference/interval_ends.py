"""Both ends of an interval on each scale: Student's t, further on the side where documents have a tail.

An estimate and its error are low together where the few documents that carry the tail were not drawn, so that an
interval of equal reach misses on that side. The first term of the Edgeworth expansion of Student's t says how far it
must move (Johnson 1978, Hall 1992). The scale, Wilson's or the logarithm, bends and moves it by itself, which is taken
off. Only the side of the tail moves: the other one errs on the side of too wide.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.estimate import Estimate

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

UNSEEN_TAIL = 9.0
"""Documents show too little skewness, by this over the root of the degrees of freedom; fitted by simulation."""


def real_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for a value that may be anything, as Student's t has them and the tests of differences."""
    reach = quantile_of(estimate, confidence) * estimate.error
    return estimate.value - reach, estimate.value + reach


def positive_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for a positive value, on its logarithm; what is 0 in every document has no error either."""
    relative = np.where(estimate.value > 0, estimate.error / estimate.value, 0.0)
    down, up = _reaches(estimate, confidence, bend=relative / 2, unseen=np.full_like(relative, UNSEEN_TAIL))
    return estimate.value * np.exp(-down * relative), estimate.value * np.exp(up * relative)


def share_ends(estimate: Estimate, counts: NDArray[Any], *, confidence: float) -> Ends:
    """Return Wilson's ends for a share, with the number of answers that would vary as much as the documents do.

    The skewness of single right and wrong answers is known, and Wilson's interval has it: the nearer documents vary to
    what answers would, the less of a tail can be unseen. Where all answers are right, or all wrong, nothing is seen of
    how documents differ, and each counts.

    Args:
        estimate: of the share.
        counts: how many answers it is of, of its shape.
        confidence: how often the interval holds the true value.
    """
    share = np.clip(estimate.value, 0.0, 1.0)
    spread = share * (1 - share)
    inside = spread > 1e-12  # all right but for rounding is all right
    varies = inside & (estimate.error > 0)
    answers = np.where(varies, spread / np.where(varies, estimate.error, 1.0) ** 2, counts)
    # Every document says the same, and that is neither all right nor all wrong: nothing can vary.
    answers = np.where(inside & ~varies, np.inf, answers)
    likeness = np.minimum(answers / counts, counts / answers)
    bend = np.where(varies, (1 - 2 * share) * estimate.error / np.where(varies, 2 * spread, 1.0), 0.0)
    down, up = _reaches(estimate, confidence, bend=bend, unseen=UNSEEN_TAIL * (1 - likeness**2))
    # Rounding must not put the value outside.
    low = np.minimum(_wilson(share, answers, -down), share)
    high = np.maximum(_wilson(share, answers, up), share)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _wilson(
    share: NDArray[np.float64], answers: NDArray[np.float64], reach: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the end of Wilson's score interval that lies so many errors away, below where it is negative."""
    pull = reach**2 / answers
    return (share + pull / 2 + reach * np.sqrt(share * (1 - share) / answers + pull / (4 * answers))) / (1 + pull)


def _reaches(estimate: Estimate, confidence: float, *, bend: NDArray[np.float64], unseen: NDArray[np.float64]) -> Ends:
    """Return how many errors an interval reaches down and up.

    Args:
        estimate: with its skewness.
        confidence: how often the interval holds the true value.
        bend: how far the scale moves an interval, in errors, over the square of the quantile.
        unseen: how much more skewness there is than documents show, times the root of the degrees of freedom.
    """
    from scipy.special import ndtri

    times, normal = quantile_of(estimate, confidence), float(ndtri(1 - (1 - confidence) / 2))
    skew = assumed_skew(estimate, unseen)
    tail = skew * (2 * normal**2 + 1) / (6 * normal)
    shift = tail - bend * normal
    # At most twice what the tail asks for: the bend alone moves nothing, or ends would jump where skewness is zero.
    down = np.clip(-shift, 0.0, np.maximum(-2 * tail, 0.0))
    up = np.clip(shift, 0.0, np.maximum(2 * tail, 0.0))
    return times * (1 + down), times * (1 + up)


def assumed_skew(estimate: Estimate, unseen: NDArray[np.float64] | float = UNSEEN_TAIL) -> NDArray[np.float64]:
    """Return the skewness of an estimate with that which its documents do not show.

    Args:
        estimate: with the skewness that they show.
        unseen: how much more there is, times the root of the degrees of freedom.
    """
    return np.asarray(estimate.skew * (1 + unseen / np.sqrt(estimate.freedom)))


def quantile_of(estimate: Estimate, confidence: float) -> NDArray[np.float64]:
    """Return how many errors an interval of Student's t reaches to either side."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(estimate.freedom, 1 - (1 - confidence) / 2))
