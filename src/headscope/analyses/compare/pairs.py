"""The pairs of heads that are compared, and how much each differs, with its verdict."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.compare.sums import ChangeSums
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.inference.significance import passing

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
        kind: kind of attention.
        first: 0-based layer and head in the first model, `[pair, 2]`.
        second: 0-based layer and head in the second model, `[pair, 2]`.
        change: mean divergence over rows, nats, `[pair]`.
        verdict: one of `VERDICTS`; None with fewer than 10 documents.
        ceiling: the same divergence against random weights; NaN if it was not measured.
        rows: number of rows that were read.
        documents: number of documents, or of their groups.
    """

    kind: str
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    change: Interval
    verdict: NDArray[np.object_]
    ceiling: NDArray[np.float64]
    rows: int
    documents: int


def head_changes(
    sums: ChangeSums, random: ChangeSums | None, *, every_pair: bool, seed: int, margin: float = MARGIN
) -> HeadChanges:
    """Return how much each head differs from its partner in the other model.

    Heads in order are compared with one another. Otherwise pairs are the assignment with the smallest sum of
    divergences: those named are chosen on all documents; their divergence is measured on one half of the documents for
    pairs chosen on the other half, and the reverse, because the best of many pairs seems better than it is.

    Args:
        sums: sums of the two models.
        random: sums of the first model and of one with random weights.
        every_pair: whether `sums` has all pairs of heads.
        seed: seed of the halves.
        margin: equivalence margin, nats.
    """
    heads = np.stack(np.divmod(np.arange(sums.first.layers * sums.first.heads), sums.first.heads), axis=1)
    first, second = heads, heads
    by_group = sums.sums.reshape(len(sums.sums), -1)
    if every_pair:
        own, partner = assigned(sums.sums.sum(0))
        first = heads[own]
        second = np.stack(np.divmod(partner, sums.second.heads), axis=1)
        by_group = judged(sums.sums, sums.rows, own, seed=seed)
    rows = sums.rows[:, None].astype(np.float64)
    interval_at = partial(ratio_interval, by_group, np.broadcast_to(rows, by_group.shape), scale="positive")
    return HeadChanges(
        kind=sums.kind,
        first=first,
        second=second,
        change=interval_at(),
        verdict=verdicts(lambda level: interval_at(confidence=level), margin=margin),
        ceiling=_ceiling(random, len(first), every_pair=every_pair),
        rows=int(sums.rows.sum()),
        documents=int((sums.rows > 0).sum()),
    )


def verdicts(interval_at: Callable[[float], Interval], *, margin: float = MARGIN) -> NDArray[np.object_]:
    """Return the verdict on each change: `changed`, `same` or `undecided`; None without an interval.

    A change is *changed* if its whole interval lies above the margin, *same* if it lies below, each at a false
    discovery rate of 5% over all heads.

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
    sums: NDArray[np.float64], rows: NDArray[Any], first: NDArray[np.int64], *, seed: int
) -> NDArray[np.float64]:
    """Return the divergence of each head and its partner by group, the partner chosen on the other half of the groups.

    Args:
        sums: sums of all pairs, `[group, first, second]`.
        rows: number of rows, `[group]`.
        first: heads of the first model that have a partner on all documents.
        seed: seed of the halves.
    """
    groups = len(sums)
    half = np.random.default_rng([seed, 48]).permutation(groups) % 2
    by_group = np.zeros((groups, len(first)))
    for part in (0, 1):
        chosen_on, measured_on = half != part, half == part
        if not rows[chosen_on].any():
            chosen_on = ~chosen_on
        own, partner = assigned(sums[chosen_on].sum(0))
        partners = dict(zip(own, partner, strict=True))
        left = [head for head in first if head not in partners]
        # A head that has no partner on one half is compared with its best head there.
        mean = sums[chosen_on].sum(0)
        partners |= {head: int(mean[head].argmin()) for head in left}
        of_head = np.array([partners[head] for head in first])
        by_group[measured_on] = sums[measured_on][:, first, of_head]
    return by_group


def _ceiling(random: ChangeSums | None, pairs: int, *, every_pair: bool) -> NDArray[np.float64]:
    if random is None or not random.rows.any():
        return np.full(pairs, np.nan)
    mean = random.sums.sum(0) / random.rows.sum()
    if not every_pair:
        return np.asarray(mean.reshape(-1))
    first, second = assigned(mean)
    return np.asarray(mean[first, second])
