"""Whether clusters of a head's rows lie so far apart that they are jobs."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import FEATURES, RELATION, TAGS_OF_KEYS, WRITTEN

APART = 4.0
"""The middles of two jobs lie so many standard deviations apart; those of halves of what is spread evenly lie 3.5."""
ELSEWHERE = 1.0
"""The same for where the key is alone: looking back one token, or at copies, is one job, whatever stands there. Where
clusters do not look alike so, what is written may lie `APART` instead, or each be of keys of one part of speech."""
ALIKE = 0.8
"""The share of rows with their keys at one place, of one relation or of one part of speech, from which a cluster looks
there."""


def looks_of(found: NDArray[np.float64], counting: NDArray[np.float64], *, square: bool) -> NDArray[np.int64]:
    """Return numbers that rows share which look alike, -1 for none, `[row, 4]`.

    They are of those that look at one place, at copies, behind copies, and at one part of speech.

    Args:
        found: `[row, FEATURES]`.
        counting: the same, 0 where a feature is as chance gives it; a part of speech counts only where it is not.
        square: whether rows and keys are the same tokens.
    """
    offset, side, *relations = (found[:, FEATURES.index(name)] for name in RELATION)
    place = (
        np.unique(offset * side, return_inverse=True)[1].reshape(-1) if square else np.full(len(found), -1)
    )
    tags = counting[:, [FEATURES.index(name) for name in TAGS_OF_KEYS]]
    tag = np.where(tags.any(1), tags.argmax(1), -1)
    return np.stack([place, *(np.where(one > 0, 0, -1) for one in relations), tag], axis=1)


def are_separated(
    own: NDArray[np.float64], names: NDArray[Any], looks: NDArray[np.int64], labels: NDArray[np.int64]
) -> bool:
    """Return whether any two clusters lie apart.

    Either by all features, parts of speech left out, and besides by where the key is or what is written; or both look
    at one part of speech, each at another.

    Args:
        own: standardized features, `[row, feature]`.
        names: of these, `[feature]`.
        looks: from `looks_of`.
        labels: the cluster of each row, from 0.
    """
    relation, written = np.isin(names, RELATION), np.isin(names, WRITTEN)
    untagged = ~np.isin(names, TAGS_OF_KEYS)
    members = [labels == one for one in range(int(labels.max()) + 1)]
    shared = [[_shared(looks[one, look]) for look in range(looks.shape[1])] for one in members]

    def apart(one: int, other: int) -> bool:
        def far(by: NDArray[np.bool_], least: float) -> bool:
            return _distance(own[members[one]][:, by], own[members[other]][:, by]) >= least

        *looking, tag = ((mine, theirs) for mine, theirs in zip(shared[one], shared[other], strict=True))
        alike = any(mine == theirs >= 0 for mine, theirs in looking)
        if not alike and min(tag) >= 0 and tag[0] != tag[1]:
            return True
        return far(untagged, APART) and (far(relation, ELSEWHERE) or (not alike and far(written, APART)))

    return all(apart(one, other) for one, other in combinations(range(len(members)), 2))


def _shared(looks: NDArray[np.int64]) -> int:
    """Return the number that nearly all rows of a cluster share; -1 where there is none."""
    numbers, counts = np.unique(looks, return_counts=True)
    return int(numbers[counts.argmax()]) if counts.max() >= ALIKE * len(looks) else -1


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return how many standard deviations the means of two clusters lie apart, along the line between them."""
    between = one.mean(0) - other.mean(0)
    length = float(np.sqrt(between @ between))
    if length < 1e-9:
        return 0.0
    spread = np.sqrt(((one @ between).var() + (other @ between).var()) / 2) / length
    return length / max(float(spread), 1e-9)
