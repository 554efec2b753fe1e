"""Confidence intervals over documents with checked coverage, and comparisons of two numbers on the same documents.

Intervals use Student's t with an error clustered by document. A share is bounded as Wilson (1927) bounds a count, with
the effective number of answers; a positive quantity on its logarithm; both are wider on the side where documents have a
tail. Their coverage is simulated in `benchmarks/calibration.py` and reported in docs/calibration.md.

The estimate and its error are both too small if the few documents in the tail were not drawn, so that a symmetric
interval misses on that side. The first term of the Edgeworth expansion of Student's t gives the required shift (Johnson
1978, Hall 1992). The scale, Wilson's or the logarithm, already bends and shifts the interval, and this shift is
subtracted. Only the side of the tail moves: the other side is conservative.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.estimate import Estimate, difference, mean_of_ratios, ratio

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

UNSEEN_TAIL = 9.0
"""Skewness missing in the documents, times the root of the degrees of freedom; fitted by simulation."""


def real_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for any real value: Student's t, as in the tests of differences."""
    reach = quantile_of(estimate, confidence) * estimate.error
    return estimate.value - reach, estimate.value + reach


def positive_ends(estimate: Estimate, *, confidence: float) -> Ends:
    """Return the ends for a positive value, on its logarithm; a value of 0 in every document has no error."""
    relative = np.where(estimate.value > 0, estimate.error / estimate.value, 0.0)
    down, up = _reaches(estimate, confidence, bend=relative / 2, unseen=np.full_like(relative, UNSEEN_TAIL))
    return estimate.value * np.exp(-down * relative), estimate.value * np.exp(up * relative)


def share_ends(estimate: Estimate, counts: NDArray[Any], *, confidence: float) -> Ends:
    """Return Wilson's ends for a share, with the effective number of answers, which would vary as the documents do.

    The skewness of single right and wrong answers is known, and Wilson's interval includes it: the closer the variation
    of documents is to that of answers, the less of a tail can be unseen. If all answers are right, or all wrong, the
    data does not show how documents differ, and each answer counts.

    Args:
        estimate: estimate of the share.
        counts: number of answers behind the share, of its shape.
        confidence: confidence level of the interval.
    """
    share = np.clip(estimate.value, 0.0, 1.0)
    spread = share * (1 - share)
    inside = spread > 1e-12  # a share of 1 up to rounding counts as all right
    varies = inside & (estimate.error > 0)
    answers = np.where(varies, spread / np.where(varies, estimate.error, 1.0) ** 2, counts)
    # Every document has the same share, neither all right nor all wrong: nothing varies.
    answers = np.where(inside & ~varies, np.inf, answers)
    likeness = np.minimum(answers / counts, counts / answers)
    bend = np.where(varies, (1 - 2 * share) * estimate.error / np.where(varies, 2 * spread, 1.0), 0.0)
    down, up = _reaches(estimate, confidence, bend=bend, unseen=UNSEEN_TAIL * (1 - likeness**2))
    # Rounding must not put the value outside the interval.
    low = np.minimum(_wilson(share, answers, -down), share)
    high = np.maximum(_wilson(share, answers, up), share)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _wilson(
    share: NDArray[np.float64], answers: NDArray[np.float64], reach: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the end of Wilson's score interval at a distance of `reach` errors, the lower end if it is negative."""
    pull = reach**2 / answers
    return (share + pull / 2 + reach * np.sqrt(share * (1 - share) / answers + pull / (4 * answers))) / (1 + pull)


def _reaches(estimate: Estimate, confidence: float, *, bend: NDArray[np.float64], unseen: NDArray[np.float64]) -> Ends:
    """Return the reach of an interval down and up, in errors.

    Args:
        estimate: estimate with its skewness.
        confidence: confidence level of the interval.
        bend: shift of the interval by the scale, in errors, over the square of the quantile.
        unseen: skewness that documents do not show, times the root of the degrees of freedom.
    """
    from scipy.special import ndtri

    times, normal = quantile_of(estimate, confidence), float(ndtri(1 - (1 - confidence) / 2))
    skew = assumed_skew(estimate, unseen)
    tail = skew * (2 * normal**2 + 1) / (6 * normal)
    shift = tail - bend * normal
    # At most twice the correction for the tail: the bend alone moves nothing, or ends would jump at skewness zero.
    down = np.clip(-shift, 0.0, np.maximum(-2 * tail, 0.0))
    up = np.clip(shift, 0.0, np.maximum(2 * tail, 0.0))
    return times * (1 + down), times * (1 + up)


def assumed_skew(estimate: Estimate, unseen: NDArray[np.float64] | float = UNSEEN_TAIL) -> NDArray[np.float64]:
    """Return the skewness of an estimate, including the part that its documents do not show.

    Args:
        estimate: estimate with the skewness that its documents show.
        unseen: additional relative skewness, times the root of the degrees of freedom.
    """
    return np.asarray(estimate.skew * (1 + unseen / np.sqrt(estimate.freedom)))


def quantile_of(estimate: Estimate, confidence: float) -> NDArray[np.float64]:
    """Return the reach of a Student's t interval to either side, in errors."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(estimate.freedom, 1 - (1 - confidence) / 2))


FEWEST_DOCUMENTS = 10

Scale = Literal["share", "positive", "real"]
"""Range of the values: [0, 1], [0, infinity) or any real number; an interval never exceeds it."""


def too_few(documents: int, *, here: str = "this run has") -> str | None:
    """Return a message if there are too few documents for an interval, otherwise None.

    Args:
        documents: number of documents.
        here: subject of the message, such as the run.
    """
    if documents >= FEWEST_DOCUMENTS:
        return None
    return f"intervals need at least {FEWEST_DOCUMENTS} documents; {here} {documents}"


@dataclass(frozen=True)
class Interval:
    """A value with its 95% interval; arrays of one shape, NaN for missing values."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def ends_of(interval: Interval, index: Any, value: str = "value", prefix: str = "") -> dict[str, float]:
    """Return one number with its ends, keyed by column name: `value`, `PREFIXci_low` and `PREFIXci_high`.

    Args:
        interval: interval with arrays of any shape.
        index: index of the number; `()` if the interval holds a single number.
        value: name of the number's column.
        prefix: prefix of the ends' columns.
    """
    return {
        value: float(interval.value[index]),
        f"{prefix}ci_low": float(interval.low[index]),
        f"{prefix}ci_high": float(interval.high[index]),
    }


def ratio_interval(
    sums: NDArray[Any], counts: NDArray[Any], *, scale: Scale, documents: int | None = None, confidence: float = 0.95
) -> Interval:
    """Compute the mean over all counted items, with its interval over documents.

    Args:
        sums: sum over each document (or group of documents), `[group, ...]`.
        counts: number of items summed, `[group, ...]`, broadcastable to `sums`.
        scale: range of the values.
        documents: number of documents in all groups, if groups are fewer; None counts groups.
        confidence: confidence level of the interval.

    Returns:
        Arrays of the shape of one group's sums. The value is NaN where nothing was counted; the bounds also where
        fewer than 10 documents have any item. An interval has width 0 only if all documents have the same value, and
        that value is not all right or all wrong.
    """
    if sums.ndim == 1:
        column = ratio_interval(sums[:, None], counts[:, None], scale=scale, documents=documents, confidence=confidence)
        return mapped(column, lambda ends: ends[..., 0])
    estimate = ratio(sums, counts)
    if documents is not None:
        estimate = replace(estimate, documents=np.full_like(estimate.documents, documents))
    return interval_of(estimate, scale=scale, counts=counts.sum(0), confidence=confidence)


def interval_of(
    estimate: Estimate, *, scale: Scale, counts: NDArray[Any] | float = 1, confidence: float = 0.95
) -> Interval:
    """Compute the interval of an estimate; NaN with fewer than 10 documents.

    Args:
        estimate: estimate with its error.
        scale: range of the values.
        counts: number of answers behind a share, needed if all are right or all wrong.
        confidence: confidence level of the interval.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if scale == "share":
            number = np.broadcast_to(counts, estimate.value.shape)
            low, high = share_ends(estimate, number, confidence=confidence)
        elif scale == "positive":
            low, high = positive_ends(estimate, confidence=confidence)
        else:
            low, high = real_ends(estimate, confidence=confidence)
    known = (estimate.documents >= FEWEST_DOCUMENTS) & ~np.isnan(estimate.value)
    return Interval(estimate.value, np.where(known, low, np.nan), np.where(known, high, np.nan))


def difference_interval(
    left: NDArray[Any],
    left_counts: NDArray[Any],
    right: NDArray[Any],
    right_counts: NDArray[Any],
    *,
    answers: bool = False,
    confidence: float = 0.95,
) -> Interval:
    """Compute the difference of two means over the same documents (first minus second), with its interval.

    Args:
        left: sum over each document of the first kind, `[group, ...]`.
        left_counts: number of items summed, broadcastable to `left`.
        right: sum over each document of the second kind.
        right_counts: number of items summed.
        answers: True if the sums count right answers. An answer on which the two differ is then added to the data, so
            that agreement on a few hundred questions does not give an interval of width 0 (Agresti and Min 2005).
        confidence: confidence level of the interval.

    Returns:
        Arrays of the shape of one group; NaN where a side has no items, the bounds also where fewer than 10 documents
        have both.
    """
    if left.ndim == 1:
        sides = (side[:, None] for side in (left, left_counts, right, right_counts))
        column = difference_interval(*sides, answers=answers, confidence=confidence)
        return mapped(column, lambda ends: ends[..., 0])
    estimate = difference(left, left_counts, right, right_counts)
    if answers:
        estimate = doubted(estimate, np.minimum(left_counts.sum(0), right_counts.sum(0)))
    return interval_of(estimate, scale="real", confidence=confidence)


def doubted(estimate: Estimate, questions: NDArray[Any]) -> Estimate:
    """Add an answer on which the two sides differ to the error of a difference of right answers.

    Args:
        estimate: estimate of the difference.
        questions: the number of questions, broadcastable to the estimate.
    """
    one_answer = 1.0 / np.maximum(np.broadcast_to(questions, estimate.value.shape), 1.0)
    return Estimate(estimate.value, np.hypot(estimate.error, one_answer), estimate.freedom, estimate.documents)


def mean_interval(sums: NDArray[Any], counts: NDArray[Any]) -> Interval:
    """Compute the mean of several ratios with equal weights, with its interval over documents; scalars.

    Args:
        sums: sum over each document for each ratio, `[group, ratio]`.
        counts: number of items summed, `[group, ratio]`; ratios without any are dropped.
    """
    interval = interval_of(mean_of_ratios(sums, counts), scale="real")
    return mapped(interval, lambda ends: ends[..., 0])


def mapped(interval: Interval, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Interval:
    """Apply a function to value and bounds, for example to select a part, to reshape or to set values to NaN."""
    return Interval(change(interval.value), change(interval.low), change(interval.high))


def resampling_weights(
    groups: int, *, draws: int | None = None, resamples: int = 2000, seed: int = 0
) -> NDArray[np.float64]:
    """Draw the count of each group in each bootstrap resample, `[resample, group]`: multinomial, rows sum to `draws`.

    Args:
        groups: number of groups.
        draws: number of groups drawn; equal to `groups` when None.
        resamples: number of resamples.
        seed: seed of the random draws.
    """
    generator = np.random.default_rng(seed)
    number = groups if draws is None else draws
    return generator.multinomial(number, np.full(groups, 1 / groups), size=resamples).astype(np.float64)
