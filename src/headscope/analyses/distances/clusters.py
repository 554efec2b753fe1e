"""Heads joined into a tree by average linkage, and the tree cut into clusters."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_CLUSTERS, MOST_CLUSTERS = 4, 12
"""Cuts into fewer than four mostly split a few odd heads off from all the others."""
_HEADS_A_CLUSTER = 6
NO_STRUCTURE, WEAK_STRUCTURE = 0.25, 0.5
"""Mean silhouettes up to which clusters are no substantial structure, or a weak one (Kaufman and Rousseeuw 1990)."""


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """A tree of heads and where it is cut.

    Attributes:
        labels: the cluster of each head, from 1, the largest first, `[head]`.
        tree: scipy's linkage on the root of the divergence, `[head - 1, 4]`.
        order: the heads in the order of the tree's leaves, `[head]`.
        number: how many clusters there are.
        height: where the tree is cut, root of nats: between the last join within a cluster and the first between two.
        silhouette: the mean silhouette of this cut; NaN where there was nothing to choose.
        silhouettes: the mean over the heads of each cluster; NaN for one of a single head, `[cluster]`.
    """

    labels: NDArray[np.int64]
    tree: NDArray[np.float64]
    order: NDArray[np.int64]
    number: int
    height: float
    silhouette: float
    silhouettes: NDArray[np.float64]


def structure(silhouette: float) -> str:
    """Say in words how weak the structure is that clusters of such a mean silhouette show; nothing where it is not."""
    if silhouette <= NO_STRUCTURE:
        return "no substantial structure"
    return "a weak structure" if silhouette <= WEAK_STRUCTURE else ""


def cluster(divergence: NDArray[np.float64]) -> Clusters:
    """Join heads by average linkage on the root of their divergence, and cut where the silhouette is best.

    The root of the Jensen-Shannon divergence is a metric. Cuts into so many clusters as `cuts_tried` says are
    compared; of equally good ones the one with fewer clusters is taken.

    Args:
        divergence: in nats, symmetric with a zero diagonal, `[head, head]`.
    """
    from scipy.cluster.hierarchy import leaves_list
    from sklearn.metrics import silhouette_score

    heads = len(divergence)
    tree = tree_of(divergence)
    labels, best = np.ones(heads, dtype=np.int64), np.nan
    root = root_of(divergence)
    for number in cuts_tried(heads):
        found = cut(tree, number)
        # Joins at one height are cut together: there may be no cut into just so many.
        if found.max(initial=1) != number:
            continue
        score = float(silhouette_score(root, found, metric="precomputed"))
        if np.isnan(best) or score > best + 1e-12:
            labels, best = found, score
    chosen = int(labels.max(initial=1))
    order = leaves_list(tree).astype(np.int64) if heads > 1 else np.arange(heads)
    return Clusters(
        labels=labels,
        tree=tree,
        order=order,
        number=chosen,
        height=_height(tree, chosen),
        silhouette=best,
        silhouettes=_of_each(root, labels),
    )


def _of_each(root: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean silhouette of each cluster; NaN for one of a single head, and where there is but one."""
    from sklearn.metrics import silhouette_samples

    sizes = np.bincount(labels)[1:]
    if len(sizes) < 2:
        return np.full(len(sizes), np.nan)
    every = silhouette_samples(root, labels, metric="precomputed")
    return np.where(sizes > 1, np.bincount(labels, weights=every)[1:] / sizes, np.nan)


def cuts_tried(heads: int) -> range:
    """Return the numbers of clusters among which the silhouette chooses.

    From 4 to 12, always fewer than there are heads; models of fewer than 24 heads may have 2 or 3.
    """
    fewest = min(FEWEST_CLUSTERS, max(2, heads // _HEADS_A_CLUSTER))
    return range(fewest, min(MOST_CLUSTERS, heads - 1) + 1)


def root_of(divergence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root of divergences, with rounding below zero taken off."""
    return np.sqrt(np.maximum(divergence, 0.0))


def tree_of(divergence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Join heads by average linkage on the root of their divergence: scipy's linkage, `[head - 1, 4]`."""
    from scipy.cluster.hierarchy import linkage

    a, b = np.triu_indices(len(divergence), k=1)
    if not len(a):
        return np.zeros((0, 4))
    return np.asarray(linkage(root_of(divergence)[a, b], method="average"), dtype=np.float64)


def cut(tree: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Cut a tree into at most so many clusters, numbered from 1 by size and then by their first head, `[head]`."""
    from scipy.cluster.hierarchy import fcluster

    if not len(tree):
        return np.ones(1, dtype=np.int64)
    found = fcluster(tree, number, criterion="maxclust")
    _, first, which, size = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort((first, -size))] = np.arange(1, len(first) + 1)
    return rank[which]


def medoid(divergence: NDArray[np.float64], members: NDArray[np.int64]) -> int:
    """Return the member whose mean divergence to the other members is least; of equal ones the first."""
    return int(members[np.argmin(divergence[np.ix_(members, members)].sum(1))])


def _height(tree: NDArray[np.float64], number: int) -> float:
    """Return half-way between the joins that the cut keeps and those that it undoes."""
    heights = tree[:, 2]
    if not len(heights):
        return 0.0
    if number == 1:
        return float(heights[-1])
    kept = float(heights[-number]) if number <= len(heights) else 0.0
    return (kept + float(heights[-(number - 1)])) / 2
