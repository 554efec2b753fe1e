"""Where the tenths of a head's rows end, by interpolation in their bins, with intervals over documents.

An interval of a quantile is that of the share of rows below it, read back as values (Woodruff 1952).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.confidence import Interval, ratio_interval

DECILES = tuple(range(1, 10))
"""Of ten: below the first lies a tenth of the rows."""
TABULATED = (1, 5, 9)
"""Those that tables show of every head: nearly the least, the middle and nearly the most."""


def quantiles(
    counts: NDArray[Any], edges: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the values below which given shares of what was counted lie, as if each bin were filled evenly.

    Args:
        counts: in each bin, `[..., bin]`.
        edges: of the bins, `[bin + 1]`.
        shares: from 0 to 1, `[..., share]`; NaN stays.

    Returns:
        `[..., share]`; NaN where nothing was counted.
    """
    place, inside = _places(counts, shares)
    values = edges[place] + inside * (edges[place + 1] - edges[place])
    unknown = np.isnan(shares) | (counts.sum(-1) == 0)[..., None]
    return np.where(unknown, np.nan, values)


def decile_interval(counts: NDArray[Any], edges: NDArray[np.float64], *, documents: int) -> Interval:
    """Return the nine deciles with their intervals over documents, `[..., DECILES]`.

    Args:
        counts: rows in each bin by group of documents, `[group, ..., bin]`.
        edges: of the bins.
        documents: how many the groups are of.
    """
    whole = counts.sum(0, dtype=np.int64)
    shares = np.broadcast_to(np.array(DECILES) / 10, (*whole.shape[:-1], len(DECILES)))
    values = quantiles(whole, edges, shares)
    if not len(counts):
        return Interval(values, np.full_like(values, np.nan), np.full_like(values, np.nan))
    place, inside = _places(whole, shares)
    upto = counts.cumsum(-1, dtype=np.int64)
    at = np.broadcast_to(place, (len(counts), *place.shape))
    own = np.take_along_axis(counts, at, axis=-1)
    below = np.take_along_axis(upto, at, axis=-1) - own + inside * own
    found = ratio_interval(below, upto[..., -1:], scale="share", documents=documents)
    ends = (
        np.where(np.isnan(values), np.nan, quantiles(whole, edges, end)) for end in (found.low, found.high)
    )
    low, high = ends
    # Rounding must not put the value outside.
    return Interval(values, np.minimum(low, values), np.maximum(high, values))


def _places(
    counts: NDArray[Any], shares: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bin in which each share is reached, and how far into it."""
    upto = counts.cumsum(-1)
    wanted = np.nan_to_num(shares) * upto[..., -1:]
    reached = (upto[..., None, :] >= wanted[..., None]) & (counts > 0)[..., None, :]
    place = reached.argmax(-1)
    own = np.take_along_axis(counts, place, axis=-1)
    before = np.take_along_axis(upto, place, axis=-1) - own
    inside = np.clip((wanted - before) / np.maximum(own, 1), 0.0, 1.0)
    return place, inside
