"""Where the tenths of a head's rows end, by interpolation in their bins, with intervals over documents.

An interval of a quantile is that of the share of rows below it, read back as values (Woodruff 1952), and holds all
values of the bin in which the quantile lies: what is counted in bins is not known more exactly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.confidence import Interval, ratio_interval

DECILES = tuple(range(1, 10))
"""Of ten: below the first lies a tenth of the rows."""
TABULATED = (1, 5, 9)
"""Those that tables show of every head: nearly the least, the middle and nearly the most."""
_HAIR = 1e-9  # of a rank, so that rounding makes no other of a whole one


@dataclass(frozen=True)
class BinnedValues:
    """Values that were counted in bins, of many cells at once.

    The smallest and the largest of a bin are known, and with them two places in the order of all values: where a bin
    holds one value only, however often, quantiles are exact.

    Attributes:
        counts: values in each bin, `[..., bin]`.
        least, most: the smallest and the largest in each, `[..., bin]`; whatever in one without any.
    """

    counts: NDArray[Any]
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values below which given shares lie, `[..., share]`, as if each bin were filled evenly.

        Between two values as numpy's quantiles are. NaN where nothing was counted, or the share is.
        """
        found = np.full(shares.shape, np.nan)
        for place in np.ndindex(*self.counts.shape[:-1]):
            filled = np.flatnonzero(self.counts[place])
            if len(filled):
                upto = self.counts[place].cumsum()[filled]
                before = upto - self.counts[place][filled]
                ranks = np.stack([before, upto - 1], axis=1).reshape(-1)
                values = np.stack([self.least[place][filled], self.most[place][filled]], axis=1).reshape(-1)
                found[place] = np.interp(shares[place] * (upto[-1] - 1), ranks, values)
        return found

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
        counts: rows in each bin by group of documents, `[group, ..., bin]`.
        values: of all groups.
        documents: how many the groups are of.
    """
    shares = np.broadcast_to(np.array(DECILES) / 10, (*values.counts.shape[:-1], len(DECILES)))
    found = values.quantiles(shares)
    if not len(counts):
        return Interval(found, np.full_like(found, np.nan), np.full_like(found, np.nan))
    first, last = values.bins(shares)
    inside = _inside(values.counts, first, shares)
    upto = counts.cumsum(-1, dtype=np.int64)
    at = np.broadcast_to(first, (len(counts), *first.shape))
    own = np.take_along_axis(counts, at, axis=-1)
    below = np.take_along_axis(upto, at, axis=-1) - own + inside * own
    of_share = ratio_interval(below, upto[..., -1:], scale="share", documents=documents)
    low, high = (values.quantiles(end) for end in (of_share.low, of_share.high))
    least, most = np.take_along_axis(values.least, first, -1), np.take_along_axis(values.most, last, -1)
    return Interval(found, np.minimum(low, least), np.maximum(high, most))


def _inside(
    counts: NDArray[Any], place: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far into its bin each share is reached, 0 to 1."""
    upto = counts.cumsum(-1)
    own = np.take_along_axis(counts, place, axis=-1)
    before = np.take_along_axis(upto, place, axis=-1) - own
    return np.asarray(np.clip((shares * upto[..., -1:] - before) / np.maximum(own, 1), 0.0, 1.0))
