"""When a head is said to show a behaviour: the one rule of what stands out, held to the whole interval."""

import numpy as np
from numpy.typing import NDArray

from headscope.reporting.kit.claim_rules import LEAST_SHARE, TIMES_UNIFORM
from headscope.statistics.confidence import Interval

RULE = "above a quarter, and above twice what uniform attention gives in the same rows, the whole interval"
VERDICTS = ("yes", "no")


def verdicts(shares: Interval, uniform: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return `yes` or `no`, and None where nothing was tested: too few documents, or it cannot occur.

    Args:
        shares: of attention, with intervals.
        uniform: what uniform attention gives, broadcastable to them.
    """
    with np.errstate(invalid="ignore"):
        over = (shares.low > LEAST_SHARE) & (shares.low > TIMES_UNIFORM * uniform)
    said = np.where(over, *VERDICTS).astype(object)
    said[np.isnan(shares.low)] = None
    return said
