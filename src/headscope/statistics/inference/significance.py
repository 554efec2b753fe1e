"""Tests of significance, corrected for the number of tests, and the effects that are worth saying."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, assumed_skew, doubted
from headscope.statistics.inference.estimate import Estimate, ratio

ORDERS = 20
SIGNIFICANT = 0.05
"""Significance level of Benjamini-Hochberg's q, or of the p of a single test."""
_LEAST_SKEW = 0.5
"""Assumed share of the other values' skewness; the smallest that keeps the level in simulation."""
_WARM_UP = 5
"""The first 1/5 of the documents is used only for choosing."""
Numbers = Sequence[float] | NDArray[np.float64]
LEAST_LOSS = 0.01
"""Nats of loss, or of a logit. A smaller effect is negligible."""
LEAST_DIVERGENCE = 0.01
"""Nats between two distributions of attention."""
LEAST_ENTROPY = 0.1
"""Nats of entropy: a spread over one tenth more tokens."""
LEAST_SHARE = 0.01
"""Share of attention, of right answers, or of explained variation: one point."""
LEAST_RATIO = 1.1
"""Ratio of two sizes without a common unit, such as two gradients."""
LEAST_CORRELATION = 0.3
"""Correlation of two measures over heads."""
LEAST_RANKS = 0.5
"""Share of all heads: distance between two ranks of a head that a sentence names."""
LARGE_SHARE, TIMES_UNIFORM = 0.25, 2.0
"""A share of attention stands out if it exceeds both: 0.25, and 2 times the share under uniform attention."""


def p_above(estimate: Estimate) -> NDArray[np.float64]:
    """Compute the one-sided p that the true value is above 0: Student's t with the degrees of freedom of the error.

    NaN if fewer than 10 documents contribute. It is below 2.5% if the 95% interval lies above 0.
    """
    from scipy.special import stdtr

    p = stdtr(estimate.freedom, -_t_of(estimate))
    return np.where(estimate.documents >= FEWEST_DOCUMENTS, p, np.nan)


def p_either_side(estimate: Estimate) -> NDArray[np.float64]:
    """Compute the two-sided p that each of several values over the same documents is not 0: a corrected Student's t.

    Among many values some are far below 0 because the few documents in a tail above 0 were not drawn. For them, t is
    replaced by Hall's (1992) transformation, with the skewness that intervals assume; a correction that would increase
    t or change its sign is ignored. The error estimated from a value's own documents is least reliable for extreme
    values, and the values share their documents: no value gets more degrees of freedom than the median value, nor less
    tail on the far side than half of the skewness of the others.

    Returns:
        Array of the shape of the estimate; NaN if fewer than 10 documents contribute.
    """
    from scipy.special import stdtr

    t = _t_of(estimate)
    known = (estimate.documents >= FEWEST_DOCUMENTS) & np.isfinite(estimate.value) & (estimate.error > 0)
    freedom = estimate.freedom
    if known.any():
        freedom = np.minimum(freedom, np.median(freedom[known]))
    # A tail matters if it lies on the other side of 0.
    tail = -np.sign(t) * assumed_skew(replace(estimate, freedom=freedom))
    tail = np.maximum(tail, _LEAST_SKEW * _skew_of_others(estimate, known))
    size = np.abs(t)
    with np.errstate(invalid="ignore", divide="ignore"):
        bent = size - tail * size**2 / 3 + tail**2 * size**3 / 27 - tail / 6
    reach = np.where(np.isfinite(t), np.clip(bent, 0.0, size), size)
    return np.where(estimate.documents >= FEWEST_DOCUMENTS, 2 * stdtr(freedom, -reach), np.nan)


def _skew_of_others(estimate: Estimate, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the root mean square skewness of all other values, minus its expectation without skewness."""
    squares = np.where(known, estimate.skew**2 - 6 / (estimate.freedom + 1) ** 2, 0.0)
    others = (squares.sum() - squares) / np.maximum(known.sum() - known, 1)
    return np.asarray(np.sqrt(np.maximum(others, 0.0)))


def _t_of(estimate: Estimate) -> NDArray[np.float64]:
    """Return Student's t: infinite if all documents have the same value, 0 if that value is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(estimate.error > 0, estimate.value / estimate.error, np.sign(estimate.value) * np.inf)
    return np.where((estimate.error > 0) | (estimate.value != 0), t, 0.0)


def against_every(hits: NDArray[Any], rivals: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Test each candidate, fixed before the data were seen, against every rival: the largest p, `[candidate, item]`.

    Beating the best rival means beating each (an intersection-union test, Berger 1982): the largest p is valid
    whichever rival is truly best, without choosing one.

    Args:
        hits: right answers, `[group, candidate, item]`.
        rivals: right answers of the baselines, `[group, rival, item]`.
        counts: number of questions, `[group, item]`.
    """
    number = counts[:, None]
    largest = np.zeros(hits.shape[1:])
    for rival in range(rivals.shape[1]):
        estimate = ratio(hits - rivals[:, rival, None], number)
        largest = np.maximum(largest, p_above(doubted(estimate, counts.sum(0))))
    return largest


def selection_p(
    hits: NDArray[Any], rivals: NDArray[Any], counts: NDArray[Any], *, orders: int = ORDERS, seed: int = 0
) -> NDArray[np.float64]:
    """Test if choosing the best candidate beats every rival out of sample, `[item]`.

    Documents are taken in a random order, and each is scored by the candidate that is best on the documents before it,
    from the end of the first fifth on (prequential testing, Dawid 1984). If no candidate beats a rival, no choice made
    on other documents does: the differences have no positive mean, whatever was chosen. They are tested against every
    rival and the largest p is kept. The p of several orders, which are dependent, are combined by twice their median
    (Meinshausen, Meier and Buehlmann 2009). In contrast to choosing on one half and testing on the other, most
    documents both choose and test, and no correction for exchanging the halves is needed.

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        rivals: right answers of the baselines, `[group, rival, item]`.
        counts: number of questions, `[group, item]`.
        orders: number of random orders of the documents.
        seed: seed of the orders.

    Returns:
        p, at most 1; NaN if fewer than 10 documents have a question.
    """
    groups, _, items = hits.shape
    p = np.full(items, np.nan)
    first = max(2, groups // _WARM_UP)
    generator = np.random.default_rng([seed, 2])
    drawn = np.array([generator.permutation(groups) for _ in range(orders)])
    tested = drawn[:, first:].T
    for item in np.flatnonzero((counts > 0).sum(0) >= FEWEST_DOCUMENTS):
        hits_of_item = np.ascontiguousarray(hits[:, :, item])
        chosen = np.stack(
            [hits_of_item[order].cumsum(0, dtype=np.float64)[first - 1 : -1].argmax(1) for order in drawn], axis=1
        )
        right = hits_of_item[tested, chosen]
        questions = counts[:, item][tested][:, :, None]
        estimate = ratio(right[:, :, None] - rivals[:, :, item][tested], questions)
        # The minimum number of documents was checked before the first fifth was set aside.
        enough = np.full_like(estimate.documents, FEWEST_DOCUMENTS)
        worst = p_above(replace(doubted(estimate, questions.sum(0)), documents=enough)).max(1)
        p[item] = min(1.0, 2 * float(np.median(worst)))
    return p


def false_discovery(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute Benjamini-Hochberg's q of each p over all that are not NaN (scipy's `false_discovery_control`)."""
    from scipy.stats import false_discovery_control

    q = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    if known.any():
        q[known] = false_discovery_control(p[known], method="bh")
    return q


def passing(
    interval_at: Callable[[float], Interval],
    beyond: Callable[[Interval], NDArray[np.bool_]],
    *,
    level: float = SIGNIFICANT,
) -> NDArray[np.object_]:
    """Return True or False for each member of a family, and None for members without a test.

    Args:
        interval_at: function that returns the intervals of all members at a confidence level; NaN for missing ones.
        beyond: function that returns True where the whole interval lies beyond the threshold; False for NaN.
        level: the false discovery rate.
    """
    widest = interval_at(1 - level)
    tested = ~np.isnan(widest.low)
    passes, required = beyond(widest) & tested, int(tested.sum())
    while passes.sum() < required:
        required = int(passes.sum())
        passes = beyond(interval_at(1 - level * required / tested.sum())) & tested if required else passes & False
    passed = np.full(tested.shape, None, dtype=object)
    passed[tested] = passes[tested]
    return passed


def shown(
    value: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    least: float = 0.0,
    above: bool = False,
    documents: int = FEWEST_DOCUMENTS,
) -> NDArray[np.bool_]:
    """Return True for each claim of one kind that gets a sentence: significantly not 0, and at least `least` in size.

    Args:
        value: the number of each claim; its sign is the direction of the claim.
        low: lower end of its 95% interval; NaN if nothing was tested, and then the claim gets no sentence.
        high: upper end.
        least: the smallest size, one of the constants of this module.
        above: True if only numbers above 0 are claimed; otherwise numbers on either side.
        documents: smallest number of documents behind the intervals.
    """
    p = p_of_interval(value, low, high, documents=documents)
    if above:
        # A number below 0 is not a discovery, and must not let other numbers pass.
        p = np.where(~np.isnan(p) & (np.asarray(value) <= 0), 1.0, p)
    return np.asarray((false_discovery(p) < SIGNIFICANT) & (np.abs(value) >= least))


def p_of_interval(
    value: Numbers, low: Numbers, high: Numbers, *, documents: int = FEWEST_DOCUMENTS
) -> NDArray[np.float64]:
    """Return the two-sided p that each true value is 0, from its 95% interval; NaN if there is no interval.

    It is below 5% if the interval excludes 0, and falls further out as Student's t does. Its degrees of freedom are
    half the number of documents, because documents differ in size, and at least those of the smallest number of
    documents that an interval needs.
    """
    from scipy.special import stdtr, stdtrit

    value, low, high = (np.asarray(each, dtype=np.float64) for each in (value, low, high))
    freedom = max(FEWEST_DOCUMENTS - 1, documents // 2)
    reach = np.where(value > 0, value - low, high - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(reach > 0, np.abs(value) / reach, np.where(value == 0, 0.0, np.inf))
    p = 2 * stdtr(freedom, -stdtrit(freedom, 0.975) * times)
    return np.where(np.isnan(low) | np.isnan(high) | np.isnan(value), np.nan, p)


def apart(value: float, low: float, other: float, other_high: float, *, least: float) -> bool:
    """Return True if a number lies above another by at least `least` and their intervals do not overlap.

    If intervals do not overlap, the two numbers differ whatever their correlation.
    """
    return low > other_high and value - other >= least
