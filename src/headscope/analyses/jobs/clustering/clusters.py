"""Clusters of a head's rows that count as jobs: halves of the documents agree on them, and a valley separates them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.clustering.k_means import Floats, k_means, nearest_of
from headscope.analyses.jobs.clustering.separation import are_separated, looks_of
from headscope.analyses.jobs.clustering.standardized import LEAST_SHARE, standardized
from headscope.analyses.jobs.clustering.valley import Windows, line_windows, side_windows, valley_p
from headscope.analyses.jobs.features import FEATURES, RELATION, TAGS_OF_KEYS, WRITTEN
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import SIGNIFICANT, false_discovery

Integers = NDArray[np.int64]
MOST_JOBS = 6
AGREEMENT = 0.75
"""Two halves of the documents must cluster all rows alike, by an adjusted Rand index above this."""
FEWEST_ROWS = 100
"""No jobs are sought in fewer rows."""
_HALVES = 2
_BESIDE: tuple[tuple[str, ...], ...] = ((), TAGS_OF_KEYS, WRITTEN)
"""Groups of features that are added, one after the other, to the features of where rows look and at what."""


@dataclass(frozen=True, kw_only=True)
class HeadRows:
    """The rows of one head, as features.

    Attributes:
        features: `[row, FEATURES]`.
        used: the features that clusters are made of, `[FEATURES]`.
        documents: the number of each row's document, `[row]`.
        square: whether rows and keys are the same tokens; only then are offsets known.
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
        number: number of jobs.
        agreement: the adjusted Rand index over half-samples; NaN for one job.
        p: of the hypothesis that rows are not sparser between some two of them; 1 where no number of jobs is worth a
            test, NaN where there are fewer than 10 documents.
        q: p adjusted by Benjamini-Hochberg over the heads.
        by_output: whether jobs were separated by what rows write, where what they look at did not separate them.
    """

    labels: Integers
    number: int
    agreement: float
    p: float
    q: float = float("nan")
    by_output: bool = False


def job_clusters(heads: Sequence[HeadRows], *, seed: int) -> list[Clusters]:
    """Return the jobs of each head: its largest number of clusters, at most 6, that pass every test, or a single one.

    Clusters come from k-means on standardized features: first of where rows look and at what; then, to find more
    clusters, with the parts of speech of keys as well, and with what rows write as well. Clusters are jobs where those
    of halves of the documents agree on all rows, each has at least 5% of the rows, every two are separated, and a
    valley lies between every two (`valley_p`), at a false discovery rate of 5% over the heads.

    Args:
        heads: the rows of each head; the false discovery rate is over all of them.
        seed: of k-means and of the halves.
    """
    states = [_Head(rows, seed=seed) for rows in heads]
    for group in _BESIDE:
        for head in states:
            head.add_features(group)
        for number in range(MOST_JOBS, 1, -1):
            _try([head for head in states if head.is_candidate(number)], number, seed=seed, by_output=group == WRITTEN)
    best = [head.best for head in states]
    q_values = false_discovery(np.array([clusters.p for clusters in best]))
    return [
        replace(clusters if q_value < SIGNIFICANT else replace(_single_job(clusters), p=clusters.p), q=float(q_value))
        for clusters, q_value in zip(best, q_values, strict=True)
    ]


def _single_job(clusters: Clusters) -> Clusters:
    return replace(clusters, labels=np.zeros_like(clusters.labels), number=1, agreement=float("nan"), by_output=False)


class _Head:
    """The state of the search for a head's jobs."""

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
        self.selected = np.zeros(len(self.names), dtype=bool)
        # Bonferroni: the first number of clusters that passes is taken, out of all that are tried.
        groups = 1 + sum(bool(np.isin(self.names, group).any()) for group in _BESIDE[1:])
        self.tries = (MOST_JOBS - 1) * groups

    def add_features(self, group: tuple[str, ...]) -> None:
        """Use a further group of features beside those of looks; no features where the head has none of the group."""
        looking = ~np.isin(self.names, (*TAGS_OF_KEYS, *WRITTEN))
        further = np.isin(self.names, group)
        more = further.any() or not group
        # Parts of speech and outputs are each added to looks alone, never to one another.
        self.selected = looking | further if more else np.zeros_like(looking)
        self.above = self.best.number

    def is_candidate(self, number: int) -> bool:
        """Return whether this number of clusters is to be tried."""
        settled = self.best.number > self.above
        return not settled and number > self.above and bool(self.selected.any()) and not isnan(self.best.p)

    def labels(self, centers: Floats) -> Integers:
        """Return the nearest of the centers for each row."""
        points = self.points[None, :, self.selected]
        nearest, _ = nearest_of(points, centers[None, None, :, : points.shape[2]])
        return np.asarray(nearest[0, 0], dtype=np.int64)


def halves_of(documents: Integers, *, seed: int) -> NDArray[np.bool_]:
    """Return which rows lie in the first half of the documents of each draw, `[draw, row]`."""
    generator = np.random.default_rng(seed)
    names, numbers = np.unique(documents, return_inverse=True)
    draws = [generator.permutation(len(names)) < len(names) / 2 for _ in range(_HALVES)]
    return np.stack([in_half[numbers.reshape(-1)] for in_half in draws])


def _try(heads: Sequence[_Head], number: int, *, seed: int, by_output: bool) -> None:
    """Set the best clusters of heads to this number of clusters, where these are jobs."""
    likely: list[tuple[_Head, Integers]] = []
    whole = [(head, np.ones(len(head.points))) for head in heads]
    for head, centers in zip(heads, _centers(whole, number, seed=seed), strict=True):
        labels = head.labels(centers)
        shares = np.bincount(labels, minlength=number) / len(labels)
        if shares.min() >= LEAST_SHARE and are_separated(
            head.points[:, head.selected], head.names[head.selected], head.looks, labels
        ):
            likely.append((head, np.argsort(np.argsort(-shares, kind="stable"), kind="stable")[labels]))
    halves = [(head, half.astype(np.float64)) for head, _ in likely for draw in head.halves for half in (draw, ~draw)]
    centers_of_halves = list(_centers(halves, number, seed=seed))
    for index, (head, labels) in enumerate(likely):
        half_centers = centers_of_halves[2 * _HALVES * index :][: 2 * _HALVES]
        agreement = _agreement([head.labels(centers) for centers in half_centers])
        if agreement > AGREEMENT:
            p = min(1.0, head.tries * _split_p(head, labels, head.halves[0], half_centers[:2]))
            if p < SIGNIFICANT:
                head.best = Clusters(labels, number, agreement, p, by_output=by_output)


def _centers(samples: Sequence[tuple[_Head, Floats]], number: int, *, seed: int) -> Iterator[Floats]:
    """Yield the centers of each sample of a head's rows, `[number, feature]`; features that it lacks are 0."""
    at_once = 64
    for begin in range(0, len(samples), at_once):
        chunk = samples[begin : begin + at_once]
        rows = max(len(weights) for _, weights in chunk)
        features = max(int(head.selected.sum()) for head, _ in chunk)
        points, counts = np.zeros((len(chunk), rows, features)), np.zeros((len(chunk), rows))
        for index, (head, weights) in enumerate(chunk):
            # Rows that count come first, because starts are tried on the first rows only.
            order = np.argsort(-weights, kind="stable")
            points[index, : len(weights), : int(head.selected.sum())] = head.points[order][:, head.selected]
            counts[index, : len(weights)] = weights[order]
        yield from k_means(points, counts, number, seed=seed)


def _agreement(labels: Sequence[Integers]) -> float:
    """Return the mean adjusted Rand index of the labels that the two halves of each draw give to all rows."""
    from sklearn.metrics import adjusted_rand_score

    pairs = zip(labels[::2], labels[1::2], strict=True)
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs]))


def _split_p(head: _Head, labels: Integers, draw: NDArray[np.bool_], centers: Sequence[Floats]) -> float:
    """Return the p of no valley between some two clusters; each half of the rows is judged by the other half's centers.

    Args:
        head: the head.
        labels: clusters of all rows.
        draw: which rows are of the first half.
        centers: of the clusters of the first half, and of the second.
    """
    number = int(labels.max()) + 1
    judged = []
    for half, half_centers in ((draw, centers[0]), (~draw, centers[1])):
        half_labels = head.labels(half_centers)
        matched = _matched(labels, half_labels, number)
        judged.append((half, half_centers[matched], np.argsort(matched)[half_labels]))
    return max(_pair_p(head, judged, pair) for pair in combinations(range(number), 2))


def _pair_p(head: _Head, judged: Sequence[tuple[NDArray[np.bool_], Floats, Integers]], pair: tuple[int, int]) -> float:
    """Return the p of no valley between two clusters, along the line between them or between the sides of the row."""
    names = head.names[head.selected]
    unsided = names != "side"
    lines, sides, documents = [], [], []
    for half, centers, labels in judged:
        inside = np.isin(labels, pair)
        here, there = np.flatnonzero(inside & half), np.flatnonzero(inside & ~half)
        center, other = (centers[cluster, : len(names)][unsided] for cluster in pair)
        between = other - center
        along = (head.points[:, head.selected][:, unsided] - center) @ between / max(float(between @ between), 1e-12)
        lines.append(line_windows(along[here])(along[there]))
        documents.append(head.documents[there])
        windows = side_windows(head.tokens[here]) if (names == "side").any() else None
        if windows is not None:
            sides.append(windows(head.tokens[there]))
    whole = np.concatenate(documents)
    p = valley_p(_concatenated(lines), whole)
    if len(sides) == len(judged):
        p = min(1.0, 2 * min(p, valley_p(_concatenated(sides), whole)))
    return p


def _concatenated(halves: Sequence[Windows]) -> Windows:
    inside, widths = zip(*halves, strict=True)
    return np.concatenate(inside), np.mean(widths, axis=0)


def _matched(labels: Integers, others: Integers, number: int) -> Integers:
    """Return the other cluster that is matched with each, `[cluster]`: the assignment that shares most rows."""
    from scipy.optimize import linear_sum_assignment

    both = np.zeros((number, number))
    np.add.at(both, (labels, others), 1)
    return np.asarray(linear_sum_assignment(-both)[1])
