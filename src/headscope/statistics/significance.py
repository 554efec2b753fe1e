"""Does a head beat a baseline? One-sided tests clustered by document, and the false discovery rate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.confidence import FEWEST_DOCUMENTS


def clustered_p(differences: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """One-sided p that a pooled difference is above 0, with a standard error clustered by document.

    With D = sum of differences / sum of counts and residuals e = difference - D count of each of G documents,
    the standard error of the sum is sqrt(G / (G - 1) sum e^2), and z = sum of differences / that.

    Args:
        differences: a head's hits minus the baseline's, `[group, ...]`.
        counts: questions, `[group, ...]`, broadcastable to `differences`; groups without any do not count.

    Returns:
        p of the shape of one group's differences; NaN where fewer than 10 documents have a question.
    """
    from scipy.stats import norm

    own = np.broadcast_to(counts, differences.shape)
    total, number = differences.sum(0, dtype=np.float64), own.sum(0, dtype=np.float64)
    groups = (own > 0).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        residuals = differences - (total / number) * own
        error = np.sqrt(groups / (groups - 1) * (residuals**2).sum(0))
        # Every document the same: the difference is certain, or there is none.
        z = np.where(error > 0, total / error, np.sign(total) * np.inf)
        z = np.where((error > 0) | (total != 0), z, 0.0)
    return np.where(groups >= FEWEST_DOCUMENTS, norm.sf(z), np.nan)


def false_discovery(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Benjamini-Hochberg q of each p over all that are not NaN (scipy's `false_discovery_control`)."""
    from scipy.stats import false_discovery_control

    q = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    if known.any():
        q[known] = false_discovery_control(p[known], method="bh")
    return q
