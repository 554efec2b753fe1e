"""The pairs of heads that are compared, and how much each differs, with its verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.compare.sums import ChangeSums
from headscope.attention.head_id import SECOND
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Interval, ends_of, interval_of, ratio_interval
from headscope.statistics.inference.estimate import difference, ratio
from headscope.statistics.inference.significance import p_either_side, passing

MATCH_QUANTILE = 0.05
"""A match is nearer than this quantile of pairs assigned to random weights."""
MARGIN = 0.01
"""Equivalence margin, nats: heads that differ by less are the same."""
SAME_LEVEL = 0.015
"""Level of the verdict *same*. Documents with large changes are rare, so that upper ends are too low more often than
lower ends are too high: at this level 5% of runs err in simulation (`benchmarks/compare_worlds.py`)."""
CHANGED, SAME, UNDECIDED = VERDICTS = ("changed", "same", "undecided")


@dataclass(frozen=True, kw_only=True)
class HeadChanges:
    """The change of each pair of heads, in the order of the first model's heads.

    Attributes:
        kind: kind of attention in the first model.
        other_kind: kind of attention in the second model.
        first: 0-based layer and head in the first model, `[pair, 2]`.
        second: 0-based layer and head in the second model, `[pair, 2]`.
        change: mean divergence over rows, nats, `[pair]`.
        verdict: one of `VERDICTS`; None with fewer than 10 documents.
        random_divergence: the same divergence against random weights; NaN if it was not measured.
        match: True or False for each pair that was chosen by its attention; None where it was not tested.
        rows: number of rows that were read.
        documents: number of documents, or of their groups.
    """

    kind: str
    other_kind: str
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    change: Interval
    verdict: NDArray[np.object_]
    random_divergence: NDArray[np.float64]
    match: NDArray[np.object_]
    rows: int
    documents: int

    def names(self, pair: int) -> dict[str, Any]:
        """Return the columns that name the two heads of a pair, layers and heads from 1."""
        (layer, head), (other_layer, other_head) = (self.first[pair] + 1).tolist(), (self.second[pair] + 1).tolist()
        here = {"kind": self.kind, "layer": layer, "head": head}
        return here | {"other_kind": self.other_kind, "other_layer": other_layer, "other_head": other_head}


def head_changes(
    sums: ChangeSums, random: ChangeSums | None, *, every_pair: bool, seed: int, margin: float = MARGIN
) -> HeadChanges:
    """Return how much each head differs from its partner in the other model.

    Heads in order are compared with one another. Otherwise pairs are the assignment with the smallest sum of
    divergences: those named are chosen on all documents; their divergence is measured on one half of the documents for
    pairs chosen on the other half, and the reverse, because the best of many pairs seems better than it is.

    Args:
        sums: sums of the two models.
        random: sums of the first model and of random weights of the second model's shape.
        every_pair: whether `sums` has all pairs of heads.
        seed: seed of the halves.
        margin: equivalence margin, nats.
    """
    first = _heads(np.arange(sums.first.layers * sums.first.heads), sums.first)
    second = first
    by_group = sums.sums.reshape(len(sums.sums), -1)
    if every_pair:
        own, partner = assigned(sums.sums.sum(0))
        first, second = first[own], _heads(partner, sums.second)
        by_group = judged(sums.sums, sums.rows, own, seed=seed)
    rows = np.broadcast_to(sums.rows[:, None].astype(np.float64), by_group.shape)
    interval_at = partial(ratio_interval, by_group, rows, scale="positive")
    random_divergence = _random_divergence(random, own if every_pair else None, pairs=len(first))
    match = np.full(len(first), None, dtype=object)
    if every_pair and sums.permuted is not None and not np.isnan(random_divergence).all():
        permuted = judged(sums.permuted, sums.rows, own, seed=seed, one_to_one=False)
        below = difference(by_group, rows, permuted, rows)
        match = matches(
            lambda level: interval_of(below, scale="real", confidence=level),
            lambda level: interval_at(confidence=level),
            threshold=float(np.quantile(random_divergence, MATCH_QUANTILE)),
        )
    return HeadChanges(
        kind=sums.kind,
        other_kind=sums.second.kind.removeprefix(SECOND),
        first=first,
        second=second,
        change=interval_at(),
        verdict=verdicts(lambda level: interval_at(confidence=level), margin=margin),
        random_divergence=random_divergence,
        match=match,
        rows=int(sums.rows.sum()),
        documents=int((sums.rows > 0).sum()),
    )


def _heads(numbers: NDArray[np.int64], layout: KindLayout) -> NDArray[np.int64]:
    return np.stack(np.divmod(numbers, layout.heads), axis=1)


def matches(
    below_permuted: Callable[[float], Interval], change: Callable[[float], Interval], *, threshold: float
) -> NDArray[np.object_]:
    """Return True for each pair of heads that attend more alike than chance allows; None without an interval.

    A pair is a match if its divergence lies below that of the best permuted head of the other model, and below a
    threshold from random weights: both whole intervals, each at a false discovery rate of 5% over pairs.

    Args:
        below_permuted: function that returns the intervals of the divergence minus that of the best permuted head.
        change: function that returns the intervals of the divergence.
        threshold: the quantile `MATCH_QUANTILE` of the divergences of pairs assigned to random weights.
    """
    one = passing(below_permuted, lambda interval: np.nan_to_num(interval.high, nan=np.inf) < 0)
    other = passing(change, lambda interval: np.nan_to_num(interval.high, nan=np.inf) < threshold)
    match: NDArray[np.object_] = ((one == True) & (other == True)).astype(object)  # noqa: E712
    match[[each is None for each in one]] = None
    return match


def verdicts(interval_at: Callable[[float], Interval], *, margin: float = MARGIN) -> NDArray[np.object_]:
    """Return the verdict on each change: `changed`, `same` or `undecided`; None without an interval.

    A change is *changed* if its whole interval lies above the margin, at a false discovery rate of 5% over all heads,
    and *same* if it lies below, at `SAME_LEVEL`. Intervals are widened for the number of heads, so that a head whose
    95% interval lies beyond the margin may be undecided.

    Args:
        interval_at: function that returns the intervals of all changes at a confidence level.
        margin: equivalence margin, nats.
    """
    above = passing(interval_at, lambda interval: np.nan_to_num(interval.low, nan=-1.0) > margin)
    below = passing(interval_at, lambda interval: np.nan_to_num(interval.high, nan=np.inf) < margin, level=SAME_LEVEL)
    found = np.where(above == True, CHANGED, np.where(below == True, SAME, UNDECIDED)).astype(object)  # noqa: E712
    found[[each is None for each in above]] = None
    return found


def assigned(cost: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the one-to-one assignment of heads with the smallest total cost, `scipy.optimize.linear_sum_assignment`.

    With models of different size, heads of the larger one remain without a partner.
    """
    from scipy.optimize import linear_sum_assignment

    first, second = linear_sum_assignment(cost)
    return first, second


def judged(
    sums: NDArray[np.float64], rows: NDArray[Any], first: NDArray[np.int64], *, seed: int, one_to_one: bool = True
) -> NDArray[np.float64]:
    """Return the divergence of each head and its partner by group, the partner chosen on the other half of the groups.

    Args:
        sums: sums of all pairs, `[group, first, second]`.
        rows: number of rows, `[group]`.
        first: heads of the first model that have a partner on all documents.
        seed: seed of the halves.
        one_to_one: whether no two heads have the same partner; otherwise each has the nearest head.
    """
    groups = len(sums)
    half = np.random.default_rng([seed, 48]).permutation(groups) % 2
    by_group = np.zeros((groups, len(first)))
    for part in (0, 1):
        chosen_on, measured_on = half != part, half == part
        if not rows[chosen_on].any():
            chosen_on = ~chosen_on
        cost = sums[chosen_on].sum(0)
        # A head that has no partner on this half is compared with its nearest head there.
        partner = cost.argmin(axis=1)
        if one_to_one:
            own, best = assigned(cost)
            partner[own] = best
        by_group[measured_on] = sums[measured_on][:, first, partner[first]]
    return by_group


def _random_divergence(random: ChangeSums | None, own: NDArray[np.int64] | None, *, pairs: int) -> NDArray[np.float64]:
    """Return the divergence of each head from random weights: from its number, or from the partner assigned to it.

    Args:
        random: sums of the first model and of random weights.
        own: heads of the first model that have a partner; None if heads are compared by number.
        pairs: number of pairs.
    """
    if random is None or not random.rows.any():
        return np.full(pairs, np.nan)
    mean = random.sums.sum(0) / random.rows.sum()
    if own is None:
        return np.asarray(mean.reshape(-1))
    first, second = assigned(mean[own])
    return np.asarray(mean[own][first, second])


@dataclass(frozen=True)
class PairedValues:
    """Some numbers of both heads of each pair, by group of documents.

    Attributes:
        names: names of the numbers.
        first: sums and the numbers by which they are divided, of the first model's heads, `[group, pair, name]` each.
        second: the same of the second model's heads.
    """

    names: Sequence[str]
    first: tuple[NDArray[np.float64], NDArray[np.float64]]
    second: tuple[NDArray[np.float64], NDArray[np.float64]]


def paired_differences(result: HeadChanges, values: PairedValues) -> Iterator[dict[str, Any]]:
    """Yield the difference of each number of each pair, second minus first, with its p; none where it cannot occur.

    Rows also have the index of the pair, `pair`.
    """
    estimate = difference(*values.second, *values.first)
    interval, p = interval_of(estimate, scale="real"), p_either_side(estimate)
    first, second = ratio(*values.first).value, ratio(*values.second).value
    for pair, column in np.argwhere(~(np.isnan(first) & np.isnan(second))).tolist():
        here = pair, column
        yield {
            **result.names(pair),
            "pair": pair,
            "name": values.names[column],
            "first": first[here],
            "second": second[here],
            **ends_of(interval, here, "difference"),
            "p": p[here] if estimate.error[here] > 0 or interval.value[here] != 0 else np.nan,
            "n_documents": estimate.documents[here],
        }
