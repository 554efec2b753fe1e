"""Clusters of heads' rows that are jobs: they come out again of half of the documents, and lie apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import FEATURES, RELATION, TAGS_OF_KEYS, WRITTEN
from headscope.analyses.jobs.k_means import Floats, k_means, nearest_of
from headscope.analyses.jobs.separation import are_separated, looks_of
from headscope.analyses.jobs.standardized import LEAST_SHARE, standardized
from headscope.analyses.jobs.valley import Windows, line_windows, side_windows, valley_p
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.significance import SIGNIFICANT, false_discovery

Integers = NDArray[np.int64]
MOST_JOBS = 6
AGREEMENT = 0.75
"""Two halves of the documents must cluster all rows alike, by an adjusted Rand index above this."""
FEWEST_ROWS = 100
"""Of fewer rows no jobs are told."""
_HALVES = 2
_BESIDE: tuple[tuple[str, ...], ...] = ((), TAGS_OF_KEYS, WRITTEN)
"""Features that are added one group after the other to those of where rows look and at what."""


@dataclass(frozen=True, kw_only=True)
class HeadRows:
    """What is known of the rows of one head.

    Attributes:
        features: `[row, FEATURES]`.
        used: the features by which rows are told apart, `[FEATURES]`.
        documents: the number of each row's document, `[row]`.
        square: whether rows and keys are the same tokens, so that it is known where keys are.
    """

    features: Floats
    used: NDArray[np.bool_]
    documents: Integers
    square: bool = True


@dataclass(frozen=True)
class Clusters:
    """The jobs of a head's rows.

    Attributes:
        labels: the job of each row, from 0, the largest first, `[row]`.
        number: of jobs.
        agreement: the adjusted Rand index over half-samples; NaN for one job.
        p: that rows are not sparser between any two of them; 1 where no number of jobs is worth a test, NaN where
            there are fewer than 10 documents.
        q: the same by Benjamini-Hochberg over the heads.
        by_output: whether what rows write told jobs apart that looks did not.
    """

    labels: Integers
    number: int
    agreement: float
    p: float
    q: float = float("nan")
    by_output: bool = False


def job_clusters(heads: Sequence[HeadRows], *, seed: int) -> list[Clusters]:
    """Return for each head the most clusters, 6 at most, that are jobs; one where none are.

    k-means on standardized features: on those of where rows look and at what, and, for more clusters than that finds,
    on the parts of speech looked at beside, then on what rows write beside. Clusters are jobs where those of halves of
    the documents agree on all rows, none is smaller than 5% of them, any two lie apart, and a valley lies between
    them (`valley_p`), at a false discovery rate of 5% over the heads.

    Args:
        heads: that are compared with one another.
        seed: of k-means and of the halves.
    """
    told = [_Head(rows, seed=seed) for rows in heads]
    for group in _BESIDE:
        for head in told:
            head.go_on_with(group)
        for number in range(MOST_JOBS, 1, -1):
            _try([head for head in told if head.wants(number)], number, seed=seed, by_output=group == WRITTEN)
    found = [head.best for head in told]
    q = false_discovery(np.array([clusters.p for clusters in found]))
    return [
        replace(clusters if own < SIGNIFICANT else replace(_one(clusters), p=clusters.p), q=float(own))
        for clusters, own in zip(found, q, strict=True)
    ]


def _one(clusters: Clusters) -> Clusters:
    return replace(
        clusters, labels=np.zeros_like(clusters.labels), number=1, agreement=float("nan"), by_output=False
    )


class _Head:
    """A head while its jobs are looked for."""

    def __init__(self, rows: HeadRows, *, seed: int) -> None:
        counting = np.where(rows.used, rows.features, 0.0)
        self.points, self.names = standardized(counting, seed=seed)
        self.looks = looks_of(rows.features, counting, square=rows.square)
        offset, side = (rows.features[:, FEATURES.index(name)] for name in RELATION[:2])
        self.tokens = np.rint(side * (np.exp2(offset) - 1)).astype(np.int64)
        self.documents = rows.documents
        self.halves = halves_of(rows.documents, seed=seed)
        documents = len(np.unique(rows.documents))
        nothing = 1.0 if documents >= FEWEST_DOCUMENTS else float("nan")
        self.best = Clusters(np.zeros(len(self.points), dtype=np.int64), 1, float("nan"), nothing)
        self.by = np.zeros(len(self.names), dtype=bool)
        # Every number of clusters that might be tried, of which one that passes is taken (Bonferroni).
        groups = 1 + sum(bool(np.isin(self.names, group).any()) for group in _BESIDE[1:])
        self.tries = (MOST_JOBS - 1) * groups

    def go_on_with(self, group: tuple[str, ...]) -> None:
        """Take further features beside those before; none where the head has nothing of them."""
        looking = ~np.isin(self.names, (*TAGS_OF_KEYS, *WRITTEN))
        further = np.isin(self.names, group)
        more = further.any() or not group
        # Parts of speech and what is written each stand beside looks alone.
        self.by = looking | further if more else np.zeros_like(looking)
        self.above = self.best.number

    def wants(self, number: int) -> bool:
        """Whether so many clusters are to be tried."""
        settled = self.best.number > self.above
        return not settled and number > self.above and bool(self.by.any()) and not isnan(self.best.p)

    def labels(self, centers: Floats) -> Integers:
        """Return the nearest of the centers for each row."""
        own = self.points[None, :, self.by]
        nearest, _ = nearest_of(own, centers[None, None, :, : own.shape[2]])
        return np.asarray(nearest[0, 0], dtype=np.int64)


def halves_of(documents: Integers, *, seed: int) -> NDArray[np.bool_]:
    """Return the rows of one half of the documents for each draw, `[draw, row]`; the others are the other half."""
    generator = np.random.default_rng(seed)
    names, numbers = np.unique(documents, return_inverse=True)
    drawn = [generator.permutation(len(names)) < len(names) / 2 for _ in range(_HALVES)]
    return np.stack([own[numbers.reshape(-1)] for own in drawn])


def _try(heads: Sequence[_Head], number: int, *, seed: int, by_output: bool) -> None:
    """Give heads so many clusters where these are jobs."""
    likely: list[tuple[_Head, Integers]] = []
    whole = [(head, np.ones(len(head.points))) for head in heads]
    for head, centers in zip(heads, _centers(whole, number, seed=seed), strict=True):
        labels = head.labels(centers)
        shares = np.bincount(labels, minlength=number) / len(labels)
        if shares.min() >= LEAST_SHARE and are_separated(
            head.points[:, head.by], head.names[head.by], head.looks, labels
        ):
            likely.append((head, np.argsort(np.argsort(-shares, kind="stable"), kind="stable")[labels]))
    halves = [
        (head, half.astype(np.float64))
        for head, _ in likely
        for draw in head.halves
        for half in (draw, ~draw)
    ]
    centers_of_halves = list(_centers(halves, number, seed=seed))
    for place, (head, labels) in enumerate(likely):
        own = centers_of_halves[2 * _HALVES * place :][: 2 * _HALVES]
        agreement = _agreement([head.labels(centers) for centers in own])
        if agreement > AGREEMENT:
            p = min(1.0, head.tries * _split_p(head, labels, head.halves[0], own[:2]))
            if p < SIGNIFICANT:
                head.best = Clusters(labels, number, agreement, p, by_output=by_output)


def _centers(samples: Sequence[tuple[_Head, Floats]], number: int, *, seed: int) -> Iterator[Floats]:
    """Yield the centers of each sample of a head's rows, `[number, feature]`; features it lacks are 0."""
    at_once = 64
    for begin in range(0, len(samples), at_once):
        part = samples[begin : begin + at_once]
        rows = max(len(weights) for _, weights in part)
        features = max(int(head.by.sum()) for head, _ in part)
        points, counts = np.zeros((len(part), rows, features)), np.zeros((len(part), rows))
        for place, (head, weights) in enumerate(part):
            # Rows of the other half would take the place of the first ones, on which starts are tried.
            order = np.argsort(-weights, kind="stable")
            points[place, : len(weights), : int(head.by.sum())] = head.points[order][:, head.by]
            counts[place, : len(weights)] = weights[order]
        yield from k_means(points, counts, number, seed=seed)


def _agreement(labels: Sequence[Integers]) -> float:
    """Return the mean adjusted Rand index of what the two halves of each draw make of all rows."""
    from sklearn.metrics import adjusted_rand_score

    pairs = zip(labels[::2], labels[1::2], strict=True)
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs]))


def _split_p(head: _Head, labels: Integers, draw: NDArray[np.bool_], centers: Sequence[Floats]) -> float:
    """Return the p that there is no valley between some two clusters; each half is judged by the other's centers.

    Args:
        head: whose rows they are.
        labels: of the clusters of all rows.
        draw: which rows are of the first half.
        centers: of the clusters of the first half, and of the second.
    """
    number = int(labels.max()) + 1
    judged = []
    for half, own in ((draw, centers[0]), (~draw, centers[1])):
        found = head.labels(own)
        judged.append((half, own[_matched(labels, found, number)], _renamed(labels, found, number)))
    return max(_pair_p(head, judged, pair) for pair in combinations(range(number), 2))


def _pair_p(
    head: _Head, judged: Sequence[tuple[NDArray[np.bool_], Floats, Integers]], pair: tuple[int, int]
) -> float:
    """Return the p that there is no valley between two clusters, along the line between them or between the sides."""
    names = head.names[head.by]
    unsided = names != "side"
    lines, sides, documents = [], [], []
    for half, centers, labels in judged:
        inside = np.isin(labels, pair)
        here, there = np.flatnonzero(inside & half), np.flatnonzero(inside & ~half)
        one, other = (centers[cluster, : len(names)][unsided] for cluster in pair)
        between = other - one
        along = (head.points[:, head.by][:, unsided] - one) @ between / max(float(between @ between), 1e-12)
        lines.append(line_windows(along[here])(along[there]))
        documents.append(head.documents[there])
        windows = side_windows(head.tokens[here]) if (names == "side").any() else None
        if windows is not None:
            sides.append(windows(head.tokens[there]))
    whole = np.concatenate(documents)
    p = valley_p(_joined(lines), whole)
    if len(sides) == len(judged):
        p = min(1.0, 2 * min(p, valley_p(_joined(sides), whole)))
    return p


def _joined(halves: Sequence[Windows]) -> Windows:
    inside, widths = zip(*halves, strict=True)
    return np.concatenate(inside), np.mean(widths, axis=0)


def _matched(labels: Integers, others: Integers, number: int) -> Integers:
    """Return which of the other clusters shares most rows with each, one with one, `[cluster]`."""
    from scipy.optimize import linear_sum_assignment

    both = np.zeros((number, number))
    np.add.at(both, (labels, others), 1)
    return np.asarray(linear_sum_assignment(-both)[1])


def _renamed(labels: Integers, others: Integers, number: int) -> Integers:
    return np.argsort(_matched(labels, others, number))[others]
