"""Which claims are worth a sentence: those that are shown and large enough; both are decided here and nowhere else.

A sentence that one number differs from another, or that heads have an effect, an order, a rank or clusters, needs both:

1. The thing itself is shown. Each claim has the p of its 95% interval, and Benjamini and Hochberg (1995) decide at a
   false discovery rate of 5% over all claims of its kind: all heads, all layers, all orders that the sentence could
   have been about. Where a stage has tested already, its q-value decides.
2. It is at least as large as the smallest size of its unit, one of the constants below.

Facts that claim neither (what a share is, that no head passes a threshold) need neither.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import SIGNIFICANT, false_discovery

Numbers = Sequence[float] | NDArray[np.float64]

LEAST_LOSS = 0.01
"""Nats of loss, or of a logit; a smaller effect is missed by little."""
LEAST_DIVERGENCE = 0.01
"""Nats between two distributions of attention."""
LEAST_ENTROPY = 0.1
"""Nats of entropy: a spread over one tenth more tokens."""
LEAST_SHARE = 0.01
"""Of attention, of right answers, of what is explained: one point."""
LEAST_RATIO = 1.1
"""Of two sizes that have no unit in common with others, such as two gradients."""
LEAST_CORRELATION = 0.3
"""Of two measures over heads."""
LEAST_RANKS = 0.5
"""Of all heads: how far apart two ranks of a head lie that are named."""

LARGE_SHARE, TIMES_UNIFORM = 0.25, 2.0
"""A share of attention stands out above both of these: this much, and so many times what uniform attention gives."""


def shown(
    value: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    least: float = 0.0,
    above: bool = False,
    documents: int = FEWEST_DOCUMENTS,
) -> NDArray[np.bool_]:
    """Return which of some claims of one kind are worth a sentence: shown not to be 0, and of a size of `least`.

    Args:
        value: the number of each claim; whether it is above or below 0 is seen from it.
        low: the lower end of its 95% interval; NaN where nothing was tested, and nothing is worth a sentence.
        high: the upper end.
        least: the smallest size, one of the constants of this module.
        above: whether a claim is made only of a number above 0; else of one on either side.
        documents: number of documents that the intervals are over, at least.
    """
    p = p_of_interval(value, low, high, documents=documents)
    if above:
        # What lies below is no discovery, and lets no other number pass.
        p = np.where(~np.isnan(p) & (np.asarray(value) <= 0), 1.0, p)
    return np.asarray((false_discovery(p) < SIGNIFICANT) & (np.abs(value) >= least))


def p_of_interval(
    value: Numbers, low: Numbers, high: Numbers, *, documents: int = FEWEST_DOCUMENTS
) -> NDArray[np.float64]:
    """Return the p, on both sides, that each true value is 0, from its 95% interval; NaN where there is none.

    It is below 5% where the interval leaves out 0. Further out it falls as Student's t does. Its degrees of freedom are
    half the number of documents, as some are larger than others, and at least those of the fewest documents that an
    interval is made of.
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
    """Return True if a number is shown to lie above another, by `least`: their intervals do not overlap.

    Intervals that do not overlap differ whatever the correlation of the two numbers.
    """
    return low > other_high and value - other >= least
