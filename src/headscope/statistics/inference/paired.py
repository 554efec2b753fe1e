"""Comparisons of paired values, with intervals: the ratio of two effects, and Spearman's rank correlation."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.interval_ends import quantile_of

FEWEST = FEWEST_DOCUMENTS
"""Smallest number of pairs for an interval."""
_Z = float(norm.ppf(0.975))


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


def rank_correlation(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Return Spearman's rho of pairs, ties at their mean rank, and the ends of its 95% interval.

    The interval is over pairs, with Fisher's z and the error of Bonett and Wright (2000). Its ends are NaN for fewer
    than 10 pairs, and all three numbers if a side is constant.

    Args:
        x, y: the numbers of each pair, finite.
    """
    ranks = np.array([rankdata(x), rankdata(y)])
    number = ranks.shape[1]
    if number < 2 or (ranks.min(1) == ranks.max(1)).any():
        return np.nan, np.nan, np.nan
    rho = float(np.clip(np.corrcoef(ranks)[0, 1], -1, 1))
    if number < FEWEST:
        return rho, np.nan, np.nan
    if abs(rho) == 1:
        return rho, rho, rho
    error = np.sqrt((1 + rho**2 / 2) / (number - 3))
    middle = np.arctanh(rho)
    return rho, float(np.tanh(middle - _Z * error)), float(np.tanh(middle + _Z * error))
