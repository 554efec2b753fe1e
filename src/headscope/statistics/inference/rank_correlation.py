"""Spearman's rank correlation with its interval."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

FEWEST = FEWEST_DOCUMENTS
"""Smallest number of pairs for an interval."""
_Z = float(norm.ppf(0.975))


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
