"""Confidence intervals over documents with checked coverage, and comparisons of two numbers on the same documents.

Intervals use Student's t with an error clustered by document. A share is bounded as Wilson (1927) bounds a count, with
the effective number of answers; a positive quantity on its logarithm; both are wider on the side where documents have a
tail. Their coverage is simulated in `benchmarks/calibration.py` and reported in docs/calibration.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.estimate import Estimate, difference, mean_of_ratios, ratio
from headscope.statistics.inference.interval_ends import positive_ends, real_ends, share_ends

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
