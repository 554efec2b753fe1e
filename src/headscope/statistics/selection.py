"""The best of many candidates, scored honestly: chosen on one half of the documents, scored on the other.

A head picked as the best of hundreds on the very data it is scored on looks better than it is. Here heads
(and the fixed offsets they are compared with) are chosen on one half and scored on the other, both ways,
over several splits; choosing and scoring on the same data, as the paper does, is `same_data`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.confidence import FEWEST_DOCUMENTS, Interval, bootstrap_ratio

SPLITS = 20
RESAMPLES = 1000
_NUMBERS_AT_ONCE = 1 << 25  # 256 MiB of float64


@dataclass(frozen=True)
class Chosen:
    """The best candidate for each item, and how well it does.

    Attributes:
        accuracy: with its interval, `[item]`; NaN where nothing was counted.
        candidate: which one, `[item]`: for held-out selection the one chosen most often; -1 where none.
        share: how often it was chosen, `[item]`; NaN for choice on the same data.
    """

    accuracy: Interval
    candidate: NDArray[np.int64]
    share: NDArray[np.float64]


def halves(groups: int, *, splits: int = SPLITS, seed: int = 0) -> NDArray[np.bool_]:
    """Draw splits of the documents into halves: True for the first half, `[split, group]`."""
    generator = np.random.default_rng(seed)
    first = np.zeros((splits, groups), dtype=bool)
    for row in first:
        row[generator.permutation(groups)[: groups // 2]] = True
    return first


def same_data(hits: NDArray[Any], counts: NDArray[Any], *, by: int | None = None, seed: int = 0) -> Chosen:
    """Choose the candidate with most hits and score it on the same documents (the paper's way).

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        counts: questions, `[group, item]`.
        by: choose one candidate for all items, the best for this one; each item's own best when None.
        seed: of the bootstrap of the chosen candidate's accuracy, in which the choice is fixed.
    """
    chosen = _best(hits.sum(0)[None], by)[0]
    own = np.take_along_axis(hits, chosen[None, None, :], axis=1)[:, 0]
    interval = bootstrap_ratio(own, counts, seed=seed)
    nothing = counts.sum(0) == 0
    return Chosen(interval, np.where(nothing, -1, chosen), np.full(len(chosen), np.nan))


def held_out(
    hits: NDArray[Any],
    counts: NDArray[Any],
    *,
    by: int | None = None,
    splits: int = SPLITS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Chosen:
    """Choose on one half of the documents and score on the other, both ways, averaged over splits.

    A split counts for an item where both halves have it. The interval: documents are resampled within each
    half and candidates chosen anew, the resamples spread evenly over the splits.

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        counts: questions, `[group, item]`.
        by: choose one candidate for all items, the best for this one; each item's own best when None.
        splits: how many.
        resamples: in all.
        seed: of splits and resamples; equal seeds draw equal documents, so that results can be compared.
    """
    groups, candidates, items = hits.shape
    first = halves(groups, splits=splits, seed=seed)
    value, low, high = (np.full(items, np.nan) for _ in range(3))
    named, share = np.full(items, -1), np.full(items, np.nan)
    weights, of_split = _resamples(first, resamples=resamples, seed=seed)
    step = items if by is not None else _NUMBERS_AT_ONCE // (2 * max(resamples, splits) * candidates)
    step = max(1, step)
    for start in range(0, items, step):
        part = slice(start, start + step)
        own, number = hits[:, :, part].astype(np.float64), counts[:, part].astype(np.float64)
        scores, picks = _cross_scores(first.astype(np.float64), first, own, number, by=by)
        with np.errstate(invalid="ignore"):
            value[part] = _mean(scores)
        for item in range(own.shape[2]):
            often = np.bincount(picks[picks[:, item] >= 0, item], minlength=candidates)
            if often.sum():
                # The one with more hits of all stands first among those chosen as often.
                total = own[:, :, item if by is None else by].sum(0)
                best = np.lexsort((total, often))[-1]
                ties = (often == often[best]) & (total == total[best])
                named[start + item] = int(np.flatnonzero(ties)[0])
                share[start + item] = often[named[start + item]] / often.sum()
        enough = (number > 0).sum(0) >= FEWEST_DOCUMENTS
        if enough.any():
            drawn, _ = _cross_scores(weights * first[of_split], first[of_split], own, number, weights, by=by)
            drawn = drawn[:, enough]
            bounds = np.nanpercentile(drawn, [2.5, 97.5], axis=0)
            low[part][enough], high[part][enough] = bounds
    return Chosen(Interval(value, low, high), named, share)


def crossed(hits: NDArray[Any], counts: NDArray[Any], *, seed: int = 0) -> NDArray[np.float64]:
    """Score in each half of the documents the candidate that the other half chooses, `[group, item]` hits.

    Args:
        hits: right answers, `[group, candidate, item]`.
        counts: questions, `[group, item]`. Where one half has none the other half's own best is scored: a test
            against it must not gain from that.
        seed: of the split, the first of those of `held_out`.
    """
    first = halves(len(hits), splits=1, seed=seed)[0]
    scored = np.zeros(counts.shape)
    for half in (first, ~first):
        none = counts[~half].sum(0) == 0
        chosen = np.where(none, hits[half].sum(0), hits[~half].sum(0)).argmax(0)
        scored[half] = np.take_along_axis(hits[half], chosen[None, None, :], axis=1)[:, 0]
    return scored


def _resamples(
    first: NDArray[np.bool_], *, resamples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw how often each group is in each resample, halves apart, `[resample, group]`, and each one's split."""
    generator = np.random.default_rng([seed, 1])
    weights = np.zeros((resamples, first.shape[1]))
    of_split = np.arange(resamples) % len(first)
    for row, split in zip(weights, of_split):
        for half in (first[split], ~first[split]):
            size = int(half.sum())
            if size:
                row[half] = generator.multinomial(size, np.full(size, 1 / size))
    return weights, of_split


def _cross_scores(
    left: NDArray[np.float64],
    first: NDArray[np.bool_],
    hits: NDArray[np.float64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    *,
    by: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Choose on each half, score on the other, pool both ways.

    Args:
        left: how often each group counts in the first half, `[draw, group]`.
        first: which groups those are, `[draw, group]`.
        hits: `[group, candidate, item]`.
        counts: `[group, item]`.
        weights: how often each group counts in either half; once when None.

    Returns:
        Pooled accuracy `[draw, item]`, NaN where a half has no question; the candidates chosen, on the first
        halves and then on the second, `[2 draws, item]`, -1 where none.
    """
    right = (1.0 - first) if weights is None else weights * ~first
    sums = [np.tensordot(side, hits, axes=1) for side in (left, right)]
    numbers = [side @ counts for side in (left, right)]
    picks = [_best(table, by) for table in sums]
    scored = [
        np.take_along_axis(table, pick[:, None], axis=1)[:, 0] for table, pick in zip(sums, picks[::-1])
    ]
    whole = (numbers[0] > 0) & (numbers[1] > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.where(whole, (scored[0] + scored[1]) / (numbers[0] + numbers[1]), np.nan)
    return scores, np.where(np.concatenate([whole, whole]), np.concatenate(picks), -1)


def _best(sums: NDArray[Any], by: int | None) -> NDArray[np.int64]:
    """The candidate with most hits, `[draw, candidate, item]` to `[draw, item]`; by one item for all if told."""
    if by is None:
        own: NDArray[np.int64] = sums.argmax(1)
        return own
    return np.broadcast_to(sums[:, :, by].argmax(1)[:, None], (len(sums), sums.shape[2]))


def _mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over draws that count; NaN where none does."""
    counted = ~np.isnan(scores)
    number = counted.sum(0)
    return np.where(number > 0, np.where(counted, scores, 0).sum(0) / np.maximum(number, 1), np.nan)
