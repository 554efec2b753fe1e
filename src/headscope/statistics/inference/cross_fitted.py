"""The value of the one that is named among many, on documents that did not choose it.

The best of many heads looks too good on the documents that chose it, and what choosing is worth on other documents is
diluted by the other heads that halves choose. The head that is named is therefore scored on the halves that did not
choose, over the splits in which the other half chose it (cross-fitting).

It is still named for being chosen most often, which all documents decide, so that about half of the flattery stays
where heads are equal. How much that is, the head's value on all documents shows: what it lies above the cross-fitted
one is as large again. One and a half times that distance is added to the error, which keeps 92% in every world of
`benchmarks/selection_worlds.py`; once the distance held a margin above equal offsets in 91%.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, doubted, interval_of
from headscope.statistics.inference.estimate import Estimate, difference, ratio

_DISTANCE = 1.5
"""Of the value on all documents from the cross-fitted one, as a part of the error."""


def cross_fitted(hits: NDArray[Any], counts: NDArray[Any], times: NDArray[np.int64]) -> Interval:
    """Return the accuracy of the candidate that is named for each item, `[item]`.

    Args:
        hits: its right answers, `[group, item]`.
        counts: questions, `[group, item]`.
        times: splits in which the group was scored by it, chosen without the group, `[group, item]`.
    """
    estimate = _with_selection(ratio(times * hits, times * counts), ratio(hits, counts))
    return interval_of(estimate, scale="share", counts=_questions(counts, times))


def cross_fitted_difference(
    left: NDArray[Any],
    left_counts: NDArray[Any],
    right: NDArray[Any],
    right_counts: NDArray[Any],
    times: NDArray[np.int64],
) -> Interval:
    """Return the accuracy of the candidate that is named less another accuracy on the same documents, `[item]`.

    Args:
        left: right answers of the candidate that is named, `[group, item]`.
        left_counts: its questions, `[group, item]`.
        right: right answers on the other side, `[group, item]`.
        right_counts: questions of the other side, `[group, item]`.
        times: splits in which the group was scored by the candidate, chosen without the group, `[group, item]`.
    """
    sides = left, left_counts, right, right_counts
    estimate = _with_selection(difference(*(times * side for side in sides)), difference(*sides))
    fewer = np.minimum(_questions(left_counts, times), _questions(right_counts, times))
    return interval_of(doubted(estimate, fewer), scale="real")


def _with_selection(apart: Estimate, every: Estimate) -> Estimate:
    """Add to the error of a cross-fitted estimate how far the one on all documents lies from it."""
    error = np.hypot(apart.error, _DISTANCE * np.nan_to_num(every.value - apart.value))
    return replace(apart, error=error, documents=every.documents)


def _questions(counts: NDArray[Any], times: NDArray[np.int64]) -> NDArray[Any]:
    return np.asarray(np.where(times > 0, counts, 0).sum(0))
