"""Heads that pass a threshold, corrected for the number of heads: Benjamini-Hochberg by means of intervals.

Among many heads some pass a threshold by chance. A head that is the only one passes if its 95% interval lies beyond the
threshold; if k of m heads pass, each must pass with an interval of 1 - 5% k / m. The largest such k is that of
Benjamini and Hochberg (1995), with a head's p defined as one minus the confidence of the widest interval beyond the
threshold. The test therefore agrees with the intervals, whatever their construction, and a head that passes has a 95%
interval beyond the threshold.
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
    """Return True or False for each member of a family, and None for members without a test.

    Args:
        interval_at: function that returns the intervals of all members at a confidence level; NaN for missing ones.
        beyond: function that returns True where the whole interval lies beyond the threshold; False for NaN.
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
