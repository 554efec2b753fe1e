"""Error bars over documents that cover what they promise, and comparisons of two numbers on the same documents.

Student's t on an error clustered by document. A share is bounded as Wilson (1927) bounds a count, with the number of
answers that would vary as much; a positive quantity on its logarithm; both reach further on the side where documents
have a tail. How often they cover is simulated in `benchmarks/calibration.py` and stands in docs/definitions.md.
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
"""What values can be: in [0, 1], in [0, infinity) or anything; an interval never leaves it."""


def too_few(documents: int, *, here: str = "this run has") -> str | None:
    """Say that so many documents are too few for an interval, or None where they are enough.

    Args:
        documents: how many there are.
        here: who has them.
    """
    if documents >= FEWEST_DOCUMENTS:
        return None
    return f"intervals need at least {FEWEST_DOCUMENTS} documents; {here} {documents}"


@dataclass(frozen=True)
class Interval:
    """A value with its 95% interval; arrays of one shape, NaN where there is none."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def ends_of(interval: Interval, index: Any, value: str = "value", prefix: str = "") -> dict[str, float]:
    """Return one number with its ends, as columns name them: `value`, `PREFIXci_low` and `PREFIXci_high`.

    Args:
        interval: of arrays of any shape.
        index: the index of the number; `()` where the interval holds a single number.
        value: name of the number's column.
        prefix: of the ends' columns.
    """
    return {
        value: float(interval.value[index]),
        f"{prefix}ci_low": float(interval.low[index]),
        f"{prefix}ci_high": float(interval.high[index]),
    }


def ratio_interval(
    sums: NDArray[Any], counts: NDArray[Any], *, scale: Scale, documents: int | None = None, confidence: float = 0.95
) -> Interval:
    """Mean over what was counted, with its interval over documents.

    Args:
        sums: sum over each document (or group of documents), `[group, ...]`.
        counts: how many that was, `[group, ...]`, broadcastable to `sums`.
        scale: what values can be.
        documents: how many the groups are of, where groups are fewer; None counts groups.
        confidence: how often the interval holds the true value.

    Returns:
        Arrays of the shape of one group's sums. The value is NaN where nothing was counted; the bounds also where
        fewer than 10 documents have any. No interval is of no width unless every document says the same, and that is
        neither all right nor all wrong.
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
    """Interval of an estimate; NaN with fewer than 10 documents.

    Args:
        estimate: with its error.
        scale: what values can be.
        counts: how many answers a share is of, for where all are right, or all wrong.
        confidence: how often the interval holds the true value.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
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
    """Difference of two means over the same documents (first less second), with its interval.

    Args:
        left: sum over each document of the first kind, `[group, ...]`.
        left_counts: how many that was, broadcastable to `left`.
        right: the same of the second kind.
        right_counts: how many.
        answers: the sums count right answers: an answer on which the two differ is added to the data, so that
            agreement on a few hundred questions does not give an interval of no width (Agresti and Min 2005).
        confidence: how often the interval holds the true value.

    Returns:
        Arrays of the shape of one group; NaN where a side has none, the bounds also where fewer than 10 documents
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
        estimate: of the difference.
        questions: the number of questions, broadcastable to the estimate.
    """
    one_answer = 1.0 / np.maximum(np.broadcast_to(questions, estimate.value.shape), 1.0)
    return Estimate(estimate.value, np.hypot(estimate.error, one_answer), estimate.freedom, estimate.documents)


def mean_interval(sums: NDArray[Any], counts: NDArray[Any]) -> Interval:
    """Mean of several ratios, each counted once, with its interval over documents; scalars.

    Args:
        sums: sum over each document for each ratio, `[group, ratio]`.
        counts: how many that was, `[group, ratio]`; ratios without any drop out.
    """
    interval = interval_of(mean_of_ratios(sums, counts), scale="real")
    return mapped(interval, lambda ends: ends[..., 0])


def mapped(interval: Interval, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Interval:
    """Return an interval with the same done to value and bounds: a part of it, another shape, NaN where it says so."""
    return Interval(change(interval.value), change(interval.low), change(interval.high))


def resampling_weights(
    groups: int, *, draws: int | None = None, resamples: int = 2000, seed: int = 0
) -> NDArray[np.float64]:
    """Draw how often each group is in each resample, `[resample, group]`: multinomial, rows sum to `draws`.

    Args:
        groups: how many there are.
        draws: how many are drawn; as many as there are when None.
        resamples: how often.
        seed: of the draws.
    """
    generator = np.random.default_rng(seed)
    number = groups if draws is None else draws
    return generator.multinomial(number, np.full(groups, 1 / groups), size=resamples).astype(np.float64)
