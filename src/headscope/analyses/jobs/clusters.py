"""Clusters of a head's rows that are jobs: that come out again of half of the rows, and lie apart."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.apart import are_apart, looks_of
from headscope.analyses.jobs.features import FEATURES, TAGS_OF_KEYS, WRITTEN

MOST_JOBS = 6
AGREEMENT = 0.75
"""Two halves of the rows must cluster all rows alike, by an adjusted Rand index above this."""
LEAST_SHARE = 0.05
"""No job has a smaller share of the rows, and a feature that fewer have tells none."""
FEWEST_ROWS = 100
"""Of fewer rows no jobs are told."""
_HALVES, _STARTS = 2, 10


@dataclass(frozen=True)
class Clusters:
    """The jobs of a head's rows.

    Attributes:
        labels: the job of each row, from 0, the largest first, `[row]`.
        number: of jobs.
        agreement: the adjusted Rand index over half-samples; NaN for one job.
        by_output: whether what rows write told jobs apart that looks did not.
    """

    labels: NDArray[np.int64]
    number: int
    agreement: float
    by_output: bool = False


def job_clusters(
    found: NDArray[np.float64],
    *,
    seed: int,
    square: bool = True,
    used: NDArray[np.bool_] | None = None,
) -> Clusters:
    """Return the most clusters, 6 at most, that are jobs; one where none are.

    k-means on standardised features: on those of where rows look and at what, and, for more clusters than that finds,
    on the parts of speech looked at beside, then on what rows write beside. Clusters are jobs where those of
    half-samples agree on all rows, none is smaller than 5% of them, and any two lie apart.

    Args:
        found: `[row, FEATURES]`.
        seed: of k-means and of the halves.
        square: whether rows and keys are the same tokens, so that it is known where keys are.
        used: the features by which rows are told apart, `[FEATURES]`; all when None.
    """
    counting = found if used is None else np.where(used, found, 0.0)
    own, names = _standardised(counting, seed=seed)
    looks = looks_of(found, counting, square=square)
    looking = ~np.isin(names, (*TAGS_OF_KEYS, *WRITTEN))
    best: Clusters | None = None
    for beside in ((), TAGS_OF_KEYS, WRITTEN):
        by = looking | np.isin(names, beside)
        if beside and not (by & ~looking).any():
            continue
        above = 1 if best is None else best.number
        more = _clusters(own[:, by], names[by], looks, above=above, seed=seed)
        best = best if more is None else replace(more, by_output=beside == WRITTEN)
    return best or Clusters(np.zeros(len(found), dtype=np.int64), 1, float("nan"))


def _clusters(
    own: NDArray[np.float64],
    names: NDArray[Any],
    looks: NDArray[np.int64],
    *,
    above: int,
    seed: int,
) -> Clusters | None:
    """Return the most clusters that are jobs; None where no number above the given one will do.

    Args:
        own: standardised features, `[row, feature]`.
        names: of these, `[feature]`.
        looks: from `looks_of`.
        above: how many there must be more than.
        seed: of k-means and of the halves.
    """
    # Rows are often few that differ: a row is computed once, however many are like it.
    points, numbers, weights = np.unique(own, axis=0, return_inverse=True, return_counts=True)
    numbers = numbers.reshape(-1)
    for number in range(min(MOST_JOBS, len(points)), above, -1):
        centres = _centres(points, weights, number, seed=seed)
        labels = _nearest(points, centres)[numbers]
        shares = np.bincount(labels, minlength=number) / len(labels)
        if shares.min() < LEAST_SHARE or not are_apart(own, names, looks, labels):
            continue
        agreement = _agreement(points, numbers, number, seed=seed)
        if agreement > AGREEMENT:
            order = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
            return Clusters(order[labels], number, agreement)
    return None


def _standardised(found: NDArray[np.float64], *, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features of mean 0 and deviation 1, and their names; those that nearly all rows share are left out.

    Tokens away are whole numbers, between which there is no gap: they are spread by up to half a token, which the seed
    draws; the token itself is none away. What is written has deviation 1 along its first direction, and along others
    as much less as it varies less there.
    """
    kept, names = [], []
    first = found[:, FEATURES.index(WRITTEN[0])].std()
    for place, name in enumerate(FEATURES):
        column = found[:, place]
        _, counts = np.unique(column, return_counts=True)
        if len(column) - counts.max() >= LEAST_SHARE * len(column):
            column = _spread(column, seed=seed) if name == "offset" else column
            spread = first if name in WRITTEN else column.std()
            kept.append((column - column.mean()) / spread)
            names.append(name)
    own = np.stack(kept, axis=1) if kept else np.zeros((len(found), 0))
    # Equal rows stay equal, whatever rounding does.
    return np.round(own, 9), np.array(names, dtype=np.str_)


def _spread(offset: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Return log2(1 + tokens) with up to half a token more or less where there is any."""
    drawn = np.random.default_rng(seed).uniform(-0.5, 0.5, len(offset))
    return np.asarray(np.where(offset > 0, np.log2(np.exp2(offset) + drawn), 0.0))


def _centres(
    points: NDArray[np.float64], weights: NDArray[np.int64], number: int, *, seed: int
) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans

    fitted = KMeans(number, n_init=_STARTS, random_state=seed).fit(points, sample_weight=weights)
    return np.asarray(fitted.cluster_centers_, dtype=np.float64)


def _nearest(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(((points[:, None] - centres) ** 2).sum(-1).argmin(1))


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
