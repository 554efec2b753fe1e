"""Rules for claims that get a sentence: statistically significant and large enough. Both are decided only here.

A sentence that one number differs from another, or that heads have an effect, an order, a rank or clusters, needs both:

1. The claim is significant. Each claim has the p of its 95% interval, and the Benjamini-Hochberg procedure (1995)
   decides at a false discovery rate of 5% over all claims of its kind: all heads, all layers, all orders that the
   sentence could have been about. Where a stage has tested already, its q-value decides.
2. It is at least as large as the smallest size of its unit, one of the constants below.

Facts that claim neither (the value of a share, that no head passes a threshold) need neither.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import SIGNIFICANT, false_discovery

Numbers = Sequence[float] | NDArray[np.float64]

LEAST_LOSS = 0.01
"""Nats of loss, or of a logit. A smaller effect is negligible."""
LEAST_DIVERGENCE = 0.01
"""Nats between two distributions of attention."""
LEAST_ENTROPY = 0.1
"""Nats of entropy: a spread over one tenth more tokens."""
LEAST_SHARE = 0.01
"""Share of attention, of right answers, or of explained variation: one point."""
LEAST_RATIO = 1.1
"""Ratio of two sizes without a common unit, such as two gradients."""
LEAST_CORRELATION = 0.3
"""Correlation of two measures over heads."""
LEAST_RANKS = 0.5
"""Share of all heads: distance between two ranks of a head that a sentence names."""

LARGE_SHARE, TIMES_UNIFORM = 0.25, 2.0
"""A share of attention stands out if it exceeds both: 0.25, and 2 times the share under uniform attention."""


def shown(
    value: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    least: float = 0.0,
    above: bool = False,
    documents: int = FEWEST_DOCUMENTS,
) -> NDArray[np.bool_]:
    """Return True for each claim of one kind that gets a sentence: significantly not 0, and at least `least` in size.

    Args:
        value: the number of each claim; its sign is the direction of the claim.
        low: lower end of its 95% interval; NaN if nothing was tested, and then the claim gets no sentence.
        high: upper end.
        least: the smallest size, one of the constants of this module.
        above: True if only numbers above 0 are claimed; otherwise numbers on either side.
        documents: smallest number of documents behind the intervals.
    """
    p = p_of_interval(value, low, high, documents=documents)
    if above:
        # A number below 0 is not a discovery, and must not let other numbers pass.
        p = np.where(~np.isnan(p) & (np.asarray(value) <= 0), 1.0, p)
    return np.asarray((false_discovery(p) < SIGNIFICANT) & (np.abs(value) >= least))


def p_of_interval(
    value: Numbers, low: Numbers, high: Numbers, *, documents: int = FEWEST_DOCUMENTS
) -> NDArray[np.float64]:
    """Return the two-sided p that each true value is 0, from its 95% interval; NaN if there is no interval.

    It is below 5% if the interval excludes 0, and falls further out as Student's t does. Its degrees of freedom are
    half the number of documents, because documents differ in size, and at least those of the smallest number of
    documents that an interval needs.
    """
    from scipy.special import stdtr, stdtrit

    value, low, high = (np.asarray(each, dtype=np.float64) for each in (value, low, high))
    freedom = max(FEWEST_DOCUMENTS - 1, documents // 2)
    reach = np.where(value > 0, value - low, high - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(reach > 0, np.abs(value) / reach, np.where(value == 0, 0.0, np.inf))
    p = 2 * stdtr(freedom, -stdtrit(freedom, 0.975) * times)
    return np.where(np.isnan(low) | np.isnan(high) | np.isnan(value), np.nan, p)


def apart(value: float, low: float, other: float, other_high: float, *, least: float) -> bool:
    """Return True if a number lies above another by at least `least` and their intervals do not overlap.

    If intervals do not overlap, the two numbers differ whatever their correlation.
    """
    return low > other_high and value - other >= least
