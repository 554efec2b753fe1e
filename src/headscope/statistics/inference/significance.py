"""Does a head beat every baseline? One-sided tests over documents, and the false discovery rate."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, doubted
from headscope.statistics.inference.estimate import Estimate, ratio
from headscope.statistics.inference.interval_ends import assumed_skew

ORDERS = 20
SIGNIFICANT = 0.05
"""Below it Benjamini-Hochberg's q counts, or the p of a test that stands alone."""
_LEAST_SKEW = 0.5
"""Share of the other values' skewness that each is assumed to have; the least that keeps the level in simulation."""
_WARM_UP = 5
"""The first fifth of the documents only chooses."""


def p_above(estimate: Estimate) -> NDArray[np.float64]:
    """One-sided p that the true value is above 0: Student's t with the degrees of freedom of the error.

    NaN where fewer than 10 documents take part. It is below 2.5% where the 95% interval lies above 0.
    """
    from scipy.special import stdtr

    p = stdtr(estimate.freedom, -_t_of(estimate))
    return np.where(estimate.documents >= FEWEST_DOCUMENTS, p, np.nan)


def p_either_side(estimate: Estimate) -> NDArray[np.float64]:
    """Two-sided p that each true value is not 0, of values over the same documents: Student's t, taken back for tails.

    Among many values some are far below 0 because the few documents that carry a tail above it were not drawn. There t
    is replaced by Hall's (1992) transformation of it, with the skewness that intervals assume; where that asks for more
    than t, or for the other side, nothing is gained. What a value's own documents say of its error is least to be
    trusted where it is extreme, and the values share their documents: none has more degrees of freedom than the median
    value, nor less of a tail on the far side than half of the skewness of the others.

    Returns:
        Of the shape of the estimate; NaN where fewer than 10 documents take part.
    """
    from scipy.special import stdtr

    t = _t_of(estimate)
    known = (estimate.documents >= FEWEST_DOCUMENTS) & np.isfinite(estimate.value) & (estimate.error > 0)
    freedom = estimate.freedom
    if known.any():
        freedom = np.minimum(freedom, np.median(freedom[known]))
    # A tail counts where it lies on the other side of 0.
    tail = -np.sign(t) * assumed_skew(replace(estimate, freedom=freedom))
    tail = np.maximum(tail, _LEAST_SKEW * _skew_of_others(estimate, known))
    size = np.abs(t)
    with np.errstate(invalid="ignore", divide="ignore"):
        bent = size - tail * size**2 / 3 + tail**2 * size**3 / 27 - tail / 6
    reach = np.where(np.isfinite(t), np.clip(bent, 0.0, size), size)
    return np.where(estimate.documents >= FEWEST_DOCUMENTS, 2 * stdtr(freedom, -reach), np.nan)


def _skew_of_others(estimate: Estimate, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the root mean square skewness of all other values, less what documents without any would show."""
    squares = np.where(known, estimate.skew**2 - 6 / (estimate.freedom + 1) ** 2, 0.0)
    others = (squares.sum() - squares) / np.maximum(known.sum() - known, 1)
    return np.asarray(np.sqrt(np.maximum(others, 0.0)))


def _t_of(estimate: Estimate) -> NDArray[np.float64]:
    """Return Student's t: infinite where every document says the same, 0 where that is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(estimate.error > 0, estimate.value / estimate.error, np.sign(estimate.value) * np.inf)
    return np.where((estimate.error > 0) | (estimate.value != 0), t, 0.0)


def against_every(hits: NDArray[Any], rivals: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Test each candidate, named before the data were seen, against every rival: the largest p, `[candidate, item]`.

    To beat the best of them is to beat each (an intersection-union test, Berger 1982): the largest p is valid
    whichever rival is truly best, without choosing one.

    Args:
        hits: right answers, `[group, candidate, item]`.
        rivals: right answers of the baselines, `[group, rival, item]`.
        counts: questions, `[group, item]`.
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
    """Test whether choosing the best candidate beats every rival out of sample, `[item]`.

    Documents are taken in a random order, and each is judged by the candidate that is best on those before it, from
    the first fifth on (prediction in sequence, Dawid 1984). If no candidate beats a rival, no choice made on other
    documents does: the differences have no positive mean, whatever was chosen. They are tested against every rival,
    the largest p kept, and the p of several orders, which depend on each other, are combined by twice their median
    (Meinshausen, Meier and Buehlmann 2009). Compared with choosing on one half and testing on the other, most
    documents both choose and test, and nothing is paid for exchanging the halves.

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        rivals: right answers of the baselines, `[group, rival, item]`.
        counts: questions, `[group, item]`.
        orders: how many random orders of the documents.
        seed: of the orders.

    Returns:
        At most 1; NaN where fewer than 10 documents have a question.
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
        # Documents were counted before the first fifth was set aside.
        enough = np.full_like(estimate.documents, FEWEST_DOCUMENTS)
        worst = p_above(replace(doubted(estimate, questions.sum(0)), documents=enough)).max(1)
        p[item] = min(1.0, 2 * float(np.median(worst)))
    return p


def false_discovery(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Benjamini-Hochberg q of each p over all that are not NaN (scipy's `false_discovery_control`)."""
    from scipy.stats import false_discovery_control

    q = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    if known.any():
        q[known] = false_discovery_control(p[known], method="bh")
    return q
