"""Decides whether clusters of a head's rows are far enough apart to be jobs."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.clustering.k_means import Floats
from headscope.analyses.jobs.features import FEATURES, RELATION, TAGS_OF_KEYS, WRITTEN

APART = 4.0
"""Means of two jobs lie at least this many standard deviations apart; halves of a uniform distribution lie 3.5."""
ELSEWHERE = 1.0
"""Minimum for the features of the key's position alone: looking back one token, or at copies, is one job, whatever the
keys are. Clusters that do not look alike in this sense may lie `APART` in their outputs instead, or each look at a
part of speech of its own."""
ALIKE = 0.8
"""A cluster looks at a position, relation or part of speech where at least this share of its rows has it in common."""


def looks_of(values: NDArray[np.float64], counting: NDArray[np.float64], *, square: bool) -> NDArray[np.int64]:
    """Return numbers that are equal for rows that look alike, -1 for none, `[row, 4]`.

    The columns are the position, copies, tokens after copies, and the part of speech.

    Args:
        values: `[row, FEATURES]`.
        counting: the same, 0 where a feature is no more frequent than by chance.
        square: whether rows and keys are the same tokens.
    """
    offset, side, *relations = (values[:, FEATURES.index(name)] for name in RELATION)
    position = np.unique(offset * side, return_inverse=True)[1].reshape(-1) if square else np.full(len(values), -1)
    tags = counting[:, [FEATURES.index(name) for name in TAGS_OF_KEYS]]
    tag = np.where(tags.any(1), tags.argmax(1), -1)
    return np.stack([position, *(np.where(relation > 0, 0, -1) for relation in relations), tag], axis=1)


def are_separated(
    points: NDArray[np.float64], names: NDArray[Any], looks: NDArray[np.int64], labels: NDArray[np.int64]
) -> bool:
    """Return whether every two clusters are separated.

    Either they lie apart by all features except parts of speech, and also by the key's position or by the output; or
    each looks at a part of speech of its own.

    Args:
        points: standardized features, `[row, feature]`.
        names: of these, `[feature]`.
        looks: from `looks_of`.
        labels: the cluster of each row, from 0.
    """
    relation, output = np.isin(names, RELATION), np.isin(names, WRITTEN)
    untagged = ~np.isin(names, TAGS_OF_KEYS)
    members = [labels == cluster for cluster in range(int(labels.max()) + 1)]
    shared = [[_shared(looks[cluster, look]) for look in range(looks.shape[1])] for cluster in members]
    for (first, mine), (second, theirs) in combinations(zip(members, shared), 2):
        both = points[first], points[second]
        same_key = any(number == other >= 0 for number, other in zip(mine[:-1], theirs[:-1], strict=True))
        if not same_key and min(mine[-1], theirs[-1]) >= 0 and mine[-1] != theirs[-1]:
            continue  # each looks at a part of speech of its own
        if not _far(both, untagged, APART):
            return False
        if not _far(both, relation, ELSEWHERE) and (same_key or not _far(both, output, APART)):
            return False
    return True


def _far(clusters: tuple[Floats, Floats], features: NDArray[np.bool_], least: float) -> bool:
    """Return whether two clusters lie at least so far apart by these features."""
    return _distance(*(points[:, features] for points in clusters)) >= least


def _shared(looks: NDArray[np.int64]) -> int:
    """Return the number that nearly all rows of a cluster share; -1 where there is none."""
    counts = np.bincount(looks + 1)  # from -1
    return int(counts.argmax()) - 1 if counts.max() >= ALIKE * len(looks) else -1


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return how many standard deviations the means of two clusters lie apart, along the line between them."""
    between = first.mean(0) - second.mean(0)
    length = float(np.sqrt(between @ between))
    if length < 1e-9:
        return 0.0
    spread = np.sqrt(((first @ between).var() + (second @ between).var()) / 2) / length
    return length / max(float(spread), 1e-9)
