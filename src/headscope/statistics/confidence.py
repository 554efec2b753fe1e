"""Error bars: the percentile bootstrap over documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
FEWEST_DOCUMENTS = 10
TOO_FEW = "intervals need at least 10 documents"
_COLUMNS_AT_ONCE = 4096  # 2,000 resamples of so many numbers are 64 MiB


@dataclass(frozen=True)
class Interval:
    """A value with its 95% interval; arrays of one shape, NaN where there is none."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def resampling_weights(groups: int, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """Draw how often each group is in each resample, `[resample, group]`: multinomial, rows sum to `groups`."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def bootstrap_ratio(
    sums: NDArray[Any],
    counts: NDArray[Any],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Mean over segments with a percentile interval from resampling groups of documents.

    Args:
        sums: sum over each group's segments, `[group, ...]`.
        counts: how many segments that was, `[group, ...]`, broadcastable to `sums`.
        resamples: how many; all columns share the same resamples, so that they can be compared.
        seed: of the resamples.
        confidence: share of resamples inside the interval.

    Returns:
        Arrays of the shape of one group's sums. The value is NaN where nothing was counted; the bounds also
        where there are fewer than 10 groups.
    """
    shape = sums.shape[1:]
    flat = sums.reshape(len(sums), -1).astype(np.float64, copy=False)
    number = counts.reshape(len(counts), -1).astype(np.float64, copy=False)
    # Counts are few: each column of the sums says which of them is its own.
    own = np.broadcast_to(np.arange(number.shape[1]).reshape(counts.shape[1:]), shape).reshape(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = flat.sum(0) / number.sum(0)[own]
    low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    if len(sums) >= FEWEST_DOCUMENTS:
        weights = resampling_weights(len(sums), resamples=resamples, seed=seed)
        drawn = weights @ number
        tail = 100 * (1 - confidence) / 2
        for start in range(0, flat.shape[1], _COLUMNS_AT_ONCE):
            part = slice(start, start + _COLUMNS_AT_ONCE)
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (weights @ flat[:, part]) / drawn[:, own[part]]
            low[part], high[part] = np.percentile(means, [tail, 100 - tail], axis=0)
            # A resample without any such segment has no mean; it drops out.
            missing = np.isnan(means)
            some = missing.any(0) & ~missing.all(0)
            if some.any():
                low[part][some], high[part][some] = np.nanpercentile(
                    means[:, some], [tail, 100 - tail], axis=0
                )
        few = ((number > 0).sum(0) < FEWEST_DOCUMENTS)[own]
        low[few] = high[few] = np.nan
    return Interval(value.reshape(shape), low.reshape(shape), high.reshape(shape))


def bootstrap_difference(
    left: NDArray[Any],
    left_counts: NDArray[Any],
    right: NDArray[Any],
    right_counts: NDArray[Any],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Differences of two means over the same documents, with percentile intervals; arrays are `[group, ...]`.

    Args:
        left: sum over each group of the first kind.
        left_counts: how many that was.
        right: the same of the second kind.
        right_counts: how many.
        resamples: how many, the same for all columns.
        seed: of the resamples.

    Returns:
        Arrays of the shape of one group; NaN where a kind has none, the bounds also where fewer than 10 groups
        have both.
    """
    shape = left.shape[1:]
    sides = [
        np.asarray(side, dtype=np.float64).reshape(len(side), -1)
        for side in (left, left_counts, right, right_counts)
    ]
    low, high = np.full(sides[0].shape[1], np.nan), np.full(sides[0].shape[1], np.nan)
    enough = ((sides[1] > 0) & (sides[3] > 0)).sum(0) >= FEWEST_DOCUMENTS
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sides[0].sum(0) / sides[1].sum(0) - sides[2].sum(0) / sides[3].sum(0)
        if enough.any():
            weights = resampling_weights(len(sides[0]), resamples=resamples, seed=seed)
            drawn = [weights @ side[:, enough] for side in sides]
            differences = drawn[0] / drawn[1] - drawn[2] / drawn[3]
            low[enough], high[enough] = np.nanpercentile(differences, [2.5, 97.5], axis=0)
    return Interval(value.reshape(shape), low.reshape(shape), high.reshape(shape))
