"""The value of the selected one among many candidates, on documents that did not select it.

The best of many heads looks too good on the documents that selected it, and the held-out value of the selection is
diluted by the other heads that halves select. The selected head is therefore scored on the halves that did not select
it, over the splits in which the other half selected it (cross-fitting).

The head is still named for being selected most often, which all documents decide, so that about half of the selection
bias remains if heads are equal. The head's value on all documents shows its size: the distance of that value above the
cross-fitted one is about as large. 1.5 times that distance is added to the error, which gives a coverage of 92% in
every world of `benchmarks/selection_worlds.py`; 1.0 times the distance covered a margin above equal offsets in 91%.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, doubted, interval_of
from headscope.statistics.inference.estimate import Estimate, difference, ratio

_DISTANCE = 1.5
"""Factor on the distance between the value on all documents and the cross-fitted one, as a part of the error."""


def cross_fitted(hits: NDArray[Any], counts: NDArray[Any], times: NDArray[np.int64]) -> Interval:
    """Return the accuracy of the selected candidate for each item, `[item]`.

    Args:
        hits: its right answers, `[group, item]`.
        counts: number of questions, `[group, item]`.
        times: number of splits in which it scored the group and was selected without it, `[group, item]`.
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
    """Return the accuracy of the selected candidate minus another accuracy on the same documents, `[item]`.

    Args:
        left: right answers of the selected candidate, `[group, item]`.
        left_counts: number of its questions, `[group, item]`.
        right: right answers on the other side, `[group, item]`.
        right_counts: number of questions of the other side, `[group, item]`.
        times: number of splits in which the candidate scored the group and was selected without it, `[group, item]`.
    """
    sides = left, left_counts, right, right_counts
    estimate = _with_selection(difference(*(times * side for side in sides)), difference(*sides))
    fewer = np.minimum(_questions(left_counts, times), _questions(right_counts, times))
    return interval_of(doubted(estimate, fewer), scale="real")


def _with_selection(apart: Estimate, every: Estimate) -> Estimate:
    """Add the distance to the estimate on all documents to the error of a cross-fitted estimate."""
    error = np.hypot(apart.error, _DISTANCE * np.nan_to_num(every.value - apart.value))
    return replace(apart, error=error, documents=every.documents)


def _questions(counts: NDArray[Any], times: NDArray[np.int64]) -> NDArray[Any]:
    return np.asarray(np.where(times > 0, counts, 0).sum(0))
