"""Clusters of a head's rows that are jobs: that come out again of half of the rows, and lie apart."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import FEATURES, RELATION

MOST_JOBS = 6
AGREEMENT = 0.75
"""Two halves of the rows must cluster all rows alike, by an adjusted Rand index above this."""
LEAST_SHARE = 0.05
"""No job has a smaller share of the rows, and a feature that fewer have tells none."""
APART = 4.0
"""The middles of two jobs lie so many standard deviations apart; those of halves of what is spread evenly lie 3.5."""
ELSEWHERE = 1.0
"""The same for where the key is alone: looking back one token is one job, whatever stands there."""
FEWEST_ROWS = 100
"""Of fewer rows no jobs are told."""
_HALVES, _STARTS = 2, 3


@dataclass(frozen=True)
class Clusters:
    """The jobs of a head's rows.

    Attributes:
        labels: the job of each row, from 0, the largest first, `[row]`.
        number: of jobs.
        agreement: the adjusted Rand index over half-samples; NaN for one job.
    """

    labels: NDArray[np.int64]
    number: int
    agreement: float


def job_clusters(found: NDArray[np.float64], *, seed: int) -> Clusters:
    """Return the most clusters, 6 at most, that are jobs; one where none are.

    k-means on standardised features. Clusters are jobs where those of half-samples agree on all rows, none is smaller
    than 5% of them, and any two lie apart.

    Args:
        found: `[row, FEATURES]`.
        seed: of k-means and of the halves.
    """
    one = Clusters(np.zeros(len(found), dtype=np.int64), 1, float("nan"))
    own, relation = _standardised(found)
    # Rows are few that differ: a row is computed once, however many are like it.
    points, place, weights = np.unique(own, axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    if not own.shape[1]:
        return one
    for number in range(min(MOST_JOBS, len(points)), 1, -1):
        centres = _centres(points, weights, number, seed=seed)
        labels = _nearest(points, centres)[place]
        shares = np.bincount(labels, minlength=number) / len(labels)
        if shares.min() < LEAST_SHARE or not _apart(own, labels, relation, number):
            continue
        agreement = _agreement(points, place, number, seed=seed)
        if agreement > AGREEMENT:
            order = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
            return Clusters(order[labels], number, agreement)
    return one


def _standardised(found: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return features of mean 0 and deviation 1, and which are of `RELATION`; those of nearly all rows are left out."""
    kept, relation = [], []
    for place, name in enumerate(FEATURES):
        column = found[:, place]
        _, counts = np.unique(column, return_counts=True)
        if len(column) - counts.max() >= LEAST_SHARE * len(column):
            kept.append((column - column.mean()) / column.std())
            relation.append(name in RELATION)
    own = np.stack(kept, axis=1) if kept else np.zeros((len(found), 0))
    # Equal rows stay equal, whatever rounding does.
    return np.round(own, 9), np.array(relation, dtype=bool)


def _centres(
    points: NDArray[np.float64], weights: NDArray[np.int64], number: int, *, seed: int
) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans

    fitted = KMeans(number, n_init=_STARTS, random_state=seed).fit(points, sample_weight=weights)
    return np.asarray(fitted.cluster_centers_, dtype=np.float64)


def _nearest(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(((points[:, None] - centres) ** 2).sum(-1).argmin(1))


def _apart(
    own: NDArray[np.float64], labels: NDArray[np.int64], relation: NDArray[np.bool_], number: int
) -> bool:
    """Return whether any two clusters lie apart by all features, and elsewhere by those of `RELATION`."""
    return all(
        _distance(own[labels == one], own[labels == other]) >= APART
        and _distance(own[labels == one][:, relation], own[labels == other][:, relation]) >= ELSEWHERE
        for one, other in combinations(range(number), 2)
    )


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return how many standard deviations the means of two clusters lie apart, along the line between them."""
    between = one.mean(0) - other.mean(0)
    length = float(np.sqrt(between @ between))
    if length < 1e-9:
        return 0.0
    spread = np.sqrt(((one @ between).var() + (other @ between).var()) / 2) / length
    return length / max(float(spread), 1e-9)


def _agreement(points: NDArray[np.float64], place: NDArray[np.int64], number: int, *, seed: int) -> float:
    """Return the mean adjusted Rand index of what two halves of the rows make of all of them."""
    from sklearn.metrics import adjusted_rand_score

    generator = np.random.default_rng(seed)
    found = []
    for _ in range(_HALVES):
        order = generator.permutation(len(place))
        both = []
        for half in np.array_split(order, 2):
            weights = np.bincount(place[half], minlength=len(points))
            there = np.flatnonzero(weights)
            if len(there) < number:
                return 0.0
            centres = _centres(points[there], weights[there], number, seed=seed)
            both.append(_nearest(points, centres)[place])
        found.append(adjusted_rand_score(*both))
    return float(np.mean(found))
