"""Intervals of derived numbers: means of heads, the selected one of many candidates, ratios, rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

from headscope.statistics.inference.confidence import (
    FEWEST_DOCUMENTS,
    Interval,
    Scale,
    doubted,
    interval_of,
    mapped,
    quantile_of,
    ratio_interval,
)
from headscope.statistics.inference.estimate import Estimate, difference, ratio
from headscope.statistics.sums.groups import with_layer_means

_DISTANCE = 1.5
"""Factor on the distance between the value on all documents and the cross-fitted one, as a part of the error."""
_Z = float(norm.ppf(0.975))


@dataclass(frozen=True, kw_only=True)
class HeadMeans:
    """Means of one kind of attention, for some columns (statistics, behaviors).

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        measure: one of `frames.MEASURES`.
        values: value of every head, then the layer's mean, `[layer, head + 1, column]`; NaN where it cannot occur.
        uniform: value under uniform attention over the visible keys in the same rows, `[layer, column]`.
        n: number of rows or segments behind each value, `[layer, head + 1, column]`; for the mean the largest.
        sums: sums behind the means in each document (or group of documents), `[group, layer, head, column]`.
        counts: number of rows or segments, broadcastable to `sums`.
    """

    kind: str
    measure: str
    values: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]
    sums: NDArray[np.float64]
    counts: NDArray[Any]

    @classmethod
    def of(
        cls,
        kind: str,
        measure: str,
        sums: NDArray[np.float64],
        counts: NDArray[Any],
        *,
        uniform: NDArray[np.float64],
        scales: Sequence[Scale],
    ) -> HeadMeans:
        """Compute the means, with their intervals over documents.

        Args:
            kind, measure, sums, counts, uniform: as the attributes of the class.
            scales: scale of each column's values.
        """
        by_head = counts.shape[2] > 1
        values = _intervals(with_layer_means(sums), with_layer_means(counts) if by_head else counts, scales)
        number = counts.sum(0, dtype=np.int64)
        if by_head:
            number = np.concatenate([number, number.max(1, keepdims=True)], axis=1)
        return cls(
            kind=kind,
            measure=measure,
            values=values,
            uniform=uniform,
            n=np.broadcast_to(number, values.value.shape),
            sums=sums,
            counts=counts,
        )

    @property
    def heads(self) -> Interval:
        """The values of every head, `[layer, head, column]`."""
        return mapped(self.values, lambda ends: ends[:, :-1])


def _intervals(sums: NDArray[np.float64], counts: NDArray[Any], scales: Sequence[Scale]) -> Interval:
    """Return intervals of sums by group, `[group, ..., column]`, each on its column's scale."""
    ends = np.empty((3, *sums.shape[1:]))
    for scale in dict.fromkeys(scales):
        columns = [each == scale for each in scales]
        part = ratio_interval(sums[..., columns], counts[..., columns], scale=scale)
        ends[..., columns] = part.value, part.low, part.high
    return Interval(*ends)


def cross_fitted(hits: NDArray[Any], counts: NDArray[Any], times: NDArray[np.int64]) -> Interval:
    """Return the accuracy of the selected candidate for each item, `[item]`, on documents that did not select it.

    The best of many heads looks too good on the documents that selected it, and the held-out value of the selection is
    diluted by the other heads that halves select. The selected head is therefore scored on the halves that did not
    select it, over the splits in which the other half selected it (cross-fitting).

    The head is still named for being selected most often, which all documents decide, so that about half of the
    selection bias remains if heads are equal. The head's value on all documents shows its size: the distance of that
    value above the cross-fitted one is about as large. 1.5 times that distance is added to the error, which gives a
    coverage of 92% in every world of `benchmarks/selection_worlds.py`; 1.0 times the distance covered a margin above
    equal offsets in 91%.

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


def effect_ratio_interval(part: NDArray[np.float64], whole: NDArray[np.float64], counts: NDArray[Any]) -> Interval:
    """Return the mean of one effect divided by the mean of another, with its interval over documents.

    Args:
        part: sum of the first effect over each document (or group of documents), `[group, ...]`.
        whole: sum of the second effect, of the same shape.
        counts: number of inputs, broadcastable to both.

    Returns:
        Arrays of the shape of one group; NaN if the interval of the whole is not above 0, or has too few documents.
    """
    of_part, of_whole = ratio(part, counts), ratio(whole, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = of_part.value / of_whole.value
        residual = ratio(part - share * whole, counts)
        # The errors of two means and of their difference give their covariance, document by document.
        covariance = (of_part.error**2 + of_whole.error**2 - ratio(part - whole, counts).error ** 2) / 2
        reach = quantile_of(residual, 0.95) ** 2
        square = of_whole.value**2 - reach * of_whole.error**2
        middle = of_part.value * of_whole.value - reach * covariance
        rest = of_part.value**2 - reach * of_part.error**2
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        sure = of_whole.value - quantile_of(of_whole, 0.95) * of_whole.error > 0
        known = sure & (square > 0) & (of_whole.documents >= FEWEST_DOCUMENTS)
        ends = (share, (middle - root) / square, (middle + root) / square)
    return Interval(*(np.where(known, values, np.nan) for values in ends))


def rank_correlation(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Return Spearman's rho of pairs, ties at their mean rank, and the ends of its 95% interval.

    The interval is over pairs, with Fisher's z and the error of Bonett and Wright (2000). Its ends are NaN for fewer
    than 10 pairs, and all three numbers if a side is constant.

    Args:
        x, y: the numbers of each pair, finite.
    """
    ranks = np.array([rankdata(x), rankdata(y)])
    number = ranks.shape[1]
    if number < 2 or (ranks.min(1) == ranks.max(1)).any():
        return np.nan, np.nan, np.nan
    rho = float(np.clip(np.corrcoef(ranks)[0, 1], -1, 1))
    if number < FEWEST_DOCUMENTS:
        return rho, np.nan, np.nan
    if abs(rho) == 1:
        return rho, rho, rho
    error = np.sqrt((1 + rho**2 / 2) / (number - 3))
    middle = np.arctanh(rho)
    return rho, float(np.tanh(middle - _Z * error)), float(np.tanh(middle + _Z * error))
