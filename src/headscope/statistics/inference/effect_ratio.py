"""The ratio of two effects measured on the same documents, with Fieller's (1954) interval.

Neither effect has the same sign in every document, so that the larger one cannot serve as the counts of a ratio. The
interval contains the ratios r for which the mean of `part - r * whole` does not differ from 0, by Student's t.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.interval_ends import quantile_of


def effect_ratio_interval(
    part: NDArray[np.float64], whole: NDArray[np.float64], counts: NDArray[Any], *, confidence: float = 0.95
) -> Interval:
    """Return the mean of one effect divided by the mean of another, with its interval over documents.

    Args:
        part: sum of the first effect over each document (or group of documents), `[group, ...]`.
        whole: sum of the second effect, of the same shape.
        counts: number of inputs, broadcastable to both.
        confidence: confidence level of the interval.

    Returns:
        Arrays of the shape of one group; NaN if the interval of the whole is not above 0, or has too few documents.
    """
    of_part, of_whole = ratio(part, counts), ratio(whole, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = of_part.value / of_whole.value
        residual = ratio(part - share * whole, counts)
        # The errors of two means and of their difference give their covariance, document by document.
        covariance = (of_part.error**2 + of_whole.error**2 - ratio(part - whole, counts).error ** 2) / 2
        reach = quantile_of(residual, confidence) ** 2
        square = of_whole.value**2 - reach * of_whole.error**2
        middle = of_part.value * of_whole.value - reach * covariance
        rest = of_part.value**2 - reach * of_part.error**2
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        sure = of_whole.value - quantile_of(of_whole, confidence) * of_whole.error > 0
        known = sure & (square > 0) & (of_whole.documents >= FEWEST_DOCUMENTS)
        ends = (share, (middle - root) / square, (middle + root) / square)
    return Interval(*(np.where(known, values, np.nan) for values in ends))
