"""Which heads pass a threshold, corrected over heads: Benjamini-Hochberg by means of intervals.

Of many heads some pass a threshold by chance. A head passes with an interval of 95% that lies beyond the threshold
when it is the only one; where k of m heads pass, each has to with an interval of 1 - 5% k / m. The largest such k is
that of Benjamini and Hochberg (1995), with the p of a head one less the confidence of the widest interval that lies
beyond: so that the test is the interval's own, whatever that is made of, and a head that passes has a 95% interval
beyond the threshold.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval
from headscope.statistics.inference.significance import SIGNIFICANT


def passing(
    interval_at: Callable[[float], Interval],
    beyond: Callable[[Interval], NDArray[np.bool_]],
    *,
    level: float = SIGNIFICANT,
) -> NDArray[np.object_]:
    """Return True or False for each member of a family, and None where nothing was tested.

    Args:
        interval_at: the intervals of all members at a confidence; NaN where there is none.
        beyond: whether an interval lies beyond the threshold as a whole; False for NaN.
        level: the false discovery rate.
    """
    widest = interval_at(1 - level)
    tested = ~np.isnan(widest.low)
    passes, required = beyond(widest) & tested, int(tested.sum())
    while passes.sum() < required:
        required = int(passes.sum())
        passes = beyond(interval_at(1 - level * required / tested.sum())) & tested if required else passes & False
    passed = np.full(tested.shape, None, dtype=object)
    passed[tested] = passes[tested]
    return passed
