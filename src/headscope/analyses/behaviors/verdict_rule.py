"""The rule that decides if a head shows a behavior: its whole interval lies above two thresholds."""

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval
from headscope.statistics.inference.worth_saying import LARGE_SHARE, TIMES_UNIFORM

RULE = (
    "above a quarter, and above twice what uniform attention gives in the same rows, the whole interval, at a false "
    "discovery rate of 5% over the heads"
)


def stands_out(shares: Interval, uniform: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return True where the interval of a share lies above both thresholds, False where there is no interval.

    Args:
        shares: shares of attention, with intervals.
        uniform: shares of uniform attention, broadcastable to `shares`.
    """
    return (shares.low > LARGE_SHARE) & (shares.low > TIMES_UNIFORM * uniform)
