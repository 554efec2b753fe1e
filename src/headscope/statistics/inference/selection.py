"""Held-out selection: the best of many candidates is chosen on half of the documents and scored on the other half.

The accuracy of a head that is the best of hundreds on the same data is biased upward. `held_out` therefore chooses
heads on one half and scores them on the other, both ways, over several splits; `same_data` chooses and scores on the
same data, as the paper does. The held-out result is the accuracy of the *selection*, not of a single head: if the
halves choose different heads, it lies between their accuracies. The named head therefore also has its cross-fitted
accuracy, and its accuracy on all documents.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, doubted, ends_of, interval_of, mapped, ratio_interval
from headscope.statistics.inference.derived import cross_fitted, cross_fitted_difference
from headscope.statistics.inference.estimate import Estimate, averaged, ratio

SPLITS = 20


@dataclass(frozen=True)
class Chosen:
    """The best candidate for each item, its accuracy, and the accuracy of the selection.

    Attributes:
        value: the accuracy of the named candidate, `[item]`: cross-fitted (`cross_fitted`) for held-out selection, on
            the same documents for `same_data`.
        all_documents: the accuracy of the named candidate on all documents, biased upward by the choice, `[item]`.
        held_out: the accuracy of the selection: a candidate is chosen on some documents and scored on the others; NaN
            for `same_data`, and if nothing can be held out.
        candidate: the index of the named candidate, `[item]`: for held-out selection the most frequent choice; -1 if
            there is none.
        share: the share of choices that chose it, `[item]`; NaN for `same_data`.
        scored: the right answers in each document of the candidate that was chosen without it, for each split,
            `[split, group, item]`; NaN if a half has no question. It is compared with another model's selection.
        picked: the candidate that was chosen without a document, for each split, `[split, group, item]`; -1 if a half
            has no question; for `same_data` the named candidate, once.
    """

    value: Interval
    all_documents: Interval
    held_out: Interval
    candidate: NDArray[np.int64]
    share: NDArray[np.float64]
    scored: NDArray[np.float64]
    picked: NDArray[np.int64]

    @property
    def scores(self) -> NDArray[np.bool_]:
        """True where a document was scored by the named candidate, `[split, group, item]`."""
        return np.asarray((self.picked == self.candidate) & (self.candidate >= 0))

    def columns(self, item: int) -> dict[str, float]:
        """Return an item's columns: the share of the choice, its value on all documents, and its held-out value.

        A choice on the same data, without halves, has only one value, so the columns for all documents are missing.
        """
        share = float(self.share[item])
        every = ends_of(self.all_documents, item, "all_documents", "all_documents_")
        return {
            "share": share,
            **({} if np.isnan(share) else every),
            **ends_of(self.held_out, item, "held_out", "held_out_"),
        }


@dataclass(frozen=True)
class Contest:
    """The named candidate and the best rival, on the documents that chose neither; arrays `[item]`.

    Attributes:
        rival: the index of the rival; -1 if there is none.
        value: the accuracy of the candidate.
        baseline: the accuracy of the rival.
        margin: the accuracy of the candidate minus that of the rival.
    """

    rival: NDArray[np.int64]
    value: Interval
    baseline: Interval
    margin: Interval


def halves(groups: int, *, splits: int = SPLITS, seed: int = 0) -> NDArray[np.bool_]:
    """Draw splits of the documents into halves: True for the first half, `[split, group]`."""
    generator = np.random.default_rng(seed)
    first = np.zeros((splits, groups), dtype=bool)
    for row in first:
        row[generator.permutation(groups)[: groups // 2]] = True
    return first


def same_data(hits: NDArray[Any], counts: NDArray[Any], *, by: int | None = None) -> Chosen:
    """Choose the candidate with most hits and score it on the same documents (the paper's way).

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        counts: number of questions, `[group, item]`.
        by: the item whose best candidate is used for all items; when None, each item has its own best candidate.
    """
    named = np.where(counts.sum(0) == 0, -1, _best(hits.sum(0)[None], by)[0])
    nothing = np.full(named.shape, np.nan)
    unscored = np.full((0, *counts.shape), np.nan)
    no_held_out = Interval(nothing, nothing, nothing)
    accuracy = accuracy_of(hits, named, counts)
    return Chosen(accuracy, accuracy, no_held_out, named, nothing, unscored, np.broadcast_to(named, (1, *counts.shape)))


def held_out(
    hits: NDArray[Any], counts: NDArray[Any], *, by: int | None = None, splits: int = SPLITS, seed: int = 0
) -> Chosen:
    """Choose on one half of the documents and score on the other, both ways, averaged over splits.

    A split counts for an item if both halves have questions. The interval is over documents, each scored by the
    candidate that the other half chose, and includes the variation between splits.

    Args:
        hits: right answers, `[group, candidate, item]`; the first candidate wins a tie.
        counts: number of questions, `[group, item]`.
        by: the item whose best candidate is used for all items; when None, each item has its own best candidate.
        splits: the number of splits.
        seed: the seed of the splits; equal seeds draw equal halves, so that results can be compared.
    """
    groups, candidates, items = hits.shape
    first = halves(groups, splits=splits, seed=seed)
    scored, splits_counted = np.full((splits, groups, items), np.nan), np.zeros(items)
    chosen = np.zeros((candidates, items), dtype=np.int64)
    picked = np.full((splits, groups, items), -1)  # chosen by the half without the document
    for number, split in enumerate(first):
        hits_of_half = [hits[half].sum(0, dtype=np.float64) for half in (split, ~split)]
        has_question = [counts[half].sum(0) > 0 for half in (split, ~split)]
        whole = has_question[0] & has_question[1]
        splits_counted += whole
        for half, table in ((~split, hits_of_half[0]), (split, hits_of_half[1])):
            pick = _best(table[None], by)[0]
            chosen[pick[whole], np.flatnonzero(whole)] += 1
            right = np.take_along_axis(hits[half], pick[None, None], axis=1)[:, 0]
            scored[number, half] = np.where(whole, right, np.nan)
            picked[number, half] = np.where(whole, pick, -1)
    often, total = chosen, hits.sum(0)
    if by is not None:
        total = np.broadcast_to(total[:, by, None], total.shape)
    # Ties in frequency go to the candidate with more hits on all documents, further ties to the first candidate.
    ranked = np.where(often == often.max(0), total, -1)
    known = splits_counted > 0
    named = np.where(known, ranked.argmax(0), -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        often_named = np.take_along_axis(often, ranked.argmax(0)[None], 0)[0]
        share = np.where(known, often_named / (2 * splits_counted), np.nan)
    value = cross_fitted(_of(hits, named), counts, ((picked == named) & known).sum(0))
    choice = interval_of(_of_splits(scored, counts), scale="share", counts=counts.sum(0))
    return Chosen(value, accuracy_of(hits, named, counts), choice, named, share, scored, picked)


def both_ways(hits: NDArray[Any], counts: NDArray[Any], *, by: int | None = None, seed: int = 0) -> dict[str, Chosen]:
    """Return the `held-out` and the `same-data` selection by these names; arguments as in `held_out`."""
    return {"held-out": held_out(hits, counts, by=by, seed=seed), "same-data": same_data(hits, counts, by=by)}


def accuracy_of(hits: NDArray[Any], named: NDArray[np.int64], counts: NDArray[Any]) -> Interval:
    """Return the accuracy on all documents of a candidate for each item, `[item]`; NaN where `named` is -1.

    Args:
        hits: right answers, `[group, candidate, item]`.
        named: the index of the candidate, `[item]`.
        counts: number of questions, `[group, item]`.
    """
    interval = ratio_interval(_of(hits, named), counts, scale="share")
    return mapped(interval, lambda ends: np.where(named < 0, np.nan, ends))


def beside_rival(
    hits: NDArray[Any], chosen: Chosen, rivals: NDArray[Any], rival: Chosen, counts: NDArray[Any]
) -> Contest:
    """Score the named candidate and a rival on the same documents, which chose neither.

    The accuracy of the best of several rivals is biased upward on the documents that chose it, so that a margin above
    it is too small. Both are therefore scored on the halves that did not choose, over the splits in which the other
    half chose both. The named rival is the one that halves choose most often together with the candidate.

    Args:
        hits: right answers, `[group, candidate, item]`.
        chosen: the candidate.
        rivals: right answers of the rivals, `[group, rival, item]`.
        rival: the best of the rivals, chosen on the same splits.
        counts: number of questions, `[group, item]`.
    """
    with_candidate = chosen.scores
    number = [(with_candidate & (rival.picked == candidate)).sum((0, 1)) for candidate in range(rivals.shape[1])]
    named = np.where(rival.candidate < 0, -1, np.argmax(number, axis=0))
    times = (with_candidate & (rival.picked == named)).sum(0)
    candidate_hits, rival_hits = _of(hits, chosen.candidate), _of(rivals, named)
    intervals = (
        cross_fitted(candidate_hits, counts, times),
        cross_fitted(rival_hits, counts, times),
        cross_fitted_difference(candidate_hits, counts, rival_hits, counts, times),
    )
    nothing = (chosen.candidate < 0) | (named < 0)
    return Contest(named, *(mapped(each, lambda ends: np.where(nothing, np.nan, ends)) for each in intervals))


def selection_margin(ours: Chosen, theirs: Chosen, counts: NDArray[Any]) -> Interval:
    """Return the difference between the selections of two models on the same documents and splits, `[item]`.

    Args:
        ours: held-out selection on one model.
        theirs: held-out selection on the other model.
        counts: number of questions, `[group, item]`, equal for both models.
    """
    gap = _of_splits(ours.scored - theirs.scored, counts)
    return interval_of(doubted(gap, counts.sum(0)), scale="real")


def _of_splits(scored: NDArray[np.float64], counts: NDArray[Any]) -> Estimate:
    """Average over splits, `[split, group, item]` to `[item]`."""
    return averaged(ratio(scored.transpose(1, 0, 2), counts[:, None]))


def _of(hits: NDArray[Any], named: NDArray[np.int64]) -> NDArray[Any]:
    """Return the right answers of a candidate for each item, `[group, item]`."""
    return np.take_along_axis(hits, np.maximum(named, 0)[None, None], axis=1)[:, 0]


def _best(sums: NDArray[Any], by: int | None) -> NDArray[np.int64]:
    """Return the candidate with most hits, `[draw, candidate, item]` to `[draw, item]`; that of item `by`, if set."""
    if by is None:
        return np.asarray(sums.argmax(1))
    return np.broadcast_to(sums[:, :, by].argmax(1)[:, None], (len(sums), sums.shape[2]))
