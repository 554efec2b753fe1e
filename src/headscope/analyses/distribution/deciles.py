"""Deciles of a head's rows, by interpolation in their bins, with intervals over documents.

The interval of a quantile is the interval of the share of rows below it, translated back to values (Woodruff 1952). It
contains the whole bin of the quantile, because counts in bins have no finer resolution.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, ratio_interval

DECILES = tuple(range(1, 10))
"""The nine deciles; a tenth of the rows is below the first."""
TABULATED = (1, 5, 9)
"""The deciles in tables: the lowest, the median and the highest."""
_HAIR = 1e-9  # tolerance in ranks, so that rounding does not move a whole rank


@dataclass(frozen=True)
class BinnedValues:
    """Values counted in bins, for many distributions at once.

    The smallest and the largest value of each bin are known, and so are their ranks. Quantiles are exact if a bin has a
    single distinct value.

    Attributes:
        counts: number of values in each bin, `[..., bin]`.
        least, most: the smallest and the largest value of each bin, `[..., bin]`; arbitrary in an empty bin.
    """

    counts: NDArray[Any]
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at given shares, `[..., share]`, assuming a uniform distribution within each bin.

        They interpolate between two values as numpy's quantiles do. NaN where nothing was counted, or where the share
        is NaN.
        """
        quantiles = np.full(shares.shape, np.nan)
        for index in np.ndindex(*self.counts.shape[:-1]):
            filled = np.flatnonzero(self.counts[index])
            if len(filled):
                upto = self.counts[index].cumsum()[filled]
                before = upto - self.counts[index][filled]
                ranks = np.stack([before, upto - 1], axis=1).reshape(-1)
                values = np.stack([self.least[index][filled], self.most[index][filled]], axis=1).reshape(-1)
                quantiles[index] = np.interp(shares[index] * (upto[-1] - 1), ranks, values)
        return quantiles

    def bins(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bins of the two values between which each quantile lies, `[..., share]`."""
        upto = self.counts.cumsum(-1)
        rank = shares * np.maximum(upto[..., -1:] - 1, 0)
        first, last = (
            (upto[..., None, :] > end(rank - _HAIR * side)[..., None]).argmax(-1)
            for end, side in ((np.floor, -1), (np.ceil, 1))
        )
        return first, last


def decile_interval(counts: NDArray[Any], values: BinnedValues, *, documents: int) -> Interval:
    """Return the nine deciles with their intervals over documents, `[..., DECILES]`.

    Args:
        counts: number of rows in each bin by group of documents, `[group, ..., bin]`.
        values: binned values of all groups.
        documents: number of documents in the groups.
    """
    shares = np.broadcast_to(np.array(DECILES) / 10, (*values.counts.shape[:-1], len(DECILES)))
    deciles = values.quantiles(shares)
    if not len(counts):
        return Interval(deciles, np.full_like(deciles, np.nan), np.full_like(deciles, np.nan))
    first, last = values.bins(shares)
    inside = _inside(values.counts, first, shares)
    upto = counts.cumsum(-1, dtype=np.int64)
    at = np.broadcast_to(first, (len(counts), *first.shape))
    in_bin = np.take_along_axis(counts, at, axis=-1)
    below = np.take_along_axis(upto, at, axis=-1) - in_bin + inside * in_bin
    of_share = ratio_interval(below, upto[..., -1:], scale="share", documents=documents)
    low, high = (values.quantiles(end) for end in (of_share.low, of_share.high))
    least, most = np.take_along_axis(values.least, first, -1), np.take_along_axis(values.most, last, -1)
    return Interval(deciles, np.minimum(low, least), np.maximum(high, most))


def _inside(counts: NDArray[Any], bins: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the position of each quantile within its bin, from 0 to 1."""
    upto = counts.cumsum(-1)
    in_bin = np.take_along_axis(counts, bins, axis=-1)
    before = np.take_along_axis(upto, bins, axis=-1) - in_bin
    return np.asarray(np.clip((shares * upto[..., -1:] - before) / np.maximum(in_bin, 1), 0.0, 1.0))
