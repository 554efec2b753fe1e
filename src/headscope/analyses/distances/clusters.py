"""A tree of heads by average linkage, cut into clusters."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_CLUSTERS, MOST_CLUSTERS = 4, 12
"""Cuts into fewer than four clusters mostly separate a few outliers from all other heads."""
_HEADS_A_CLUSTER = 6
NO_STRUCTURE, WEAK_STRUCTURE = 0.25, 0.5
"""Mean silhouettes up to which clusters show no substantial structure, or a weak one (Kaufman and Rousseeuw 1990)."""


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """A tree of heads and its cut.

    Attributes:
        labels: the cluster of each head, from 1, the largest first, `[head]`.
        tree: scipy's linkage on the root of the divergence, `[head - 1, 4]`.
        order: the heads in the order of the tree's leaves, `[head]`.
        number: number of clusters.
        height: height of the cut in root of nats, between the last join within a cluster and the first between two.
        silhouette: mean silhouette of this cut; NaN where only one cut was possible.
        silhouettes: mean silhouette of each cluster; NaN for a cluster of a single head, `[cluster]`.
    """

    labels: NDArray[np.int64]
    tree: NDArray[np.float64]
    order: NDArray[np.int64]
    number: int
    height: float
    silhouette: float
    silhouettes: NDArray[np.float64]


def structure(silhouette: float) -> str:
    """Return the strength of the structure for a mean silhouette, in words; empty where it is not weak."""
    if silhouette <= NO_STRUCTURE:
        return "no substantial structure"
    return "a weak structure" if silhouette <= WEAK_STRUCTURE else ""


def cluster(divergence: NDArray[np.float64]) -> Clusters:
    """Cluster heads by average linkage on the root of their divergence, with the cut of the largest silhouette.

    The root of the Jensen-Shannon divergence is a metric. The numbers of clusters of `cuts_tried` are compared; among
    equally good cuts, the one with the fewest clusters is chosen.

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
        candidate = cut(tree, number)
        # Joins at the same height are cut together, so that some numbers of clusters have no cut.
        if candidate.max(initial=1) != number:
            continue
        score = float(silhouette_score(root, candidate, metric="precomputed"))
        if np.isnan(best) or score > best + 1e-12:
            labels, best = candidate, score
    number_of_clusters = int(labels.max(initial=1))
    order = leaves_list(tree).astype(np.int64) if heads > 1 else np.arange(heads)
    return Clusters(
        labels=labels,
        tree=tree,
        order=order,
        number=number_of_clusters,
        height=_height(tree, number_of_clusters),
        silhouette=best,
        silhouettes=_of_each(root, labels),
    )


def _of_each(root: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean silhouette of each cluster; NaN for a single head, and for a single cluster."""
    from sklearn.metrics import silhouette_samples

    sizes = np.bincount(labels)[1:]
    if len(sizes) < 2:
        return np.full(len(sizes), np.nan)
    every = silhouette_samples(root, labels, metric="precomputed")
    return np.where(sizes > 1, np.bincount(labels, weights=every)[1:] / sizes, np.nan)


def cuts_tried(heads: int) -> range:
    """Return the numbers of clusters that are compared by their silhouettes.

    They are 4 to 12, always fewer than heads. Models with fewer than 24 heads may also have 2 or 3.
    """
    fewest = min(FEWEST_CLUSTERS, max(2, heads // _HEADS_A_CLUSTER))
    return range(fewest, min(MOST_CLUSTERS, heads - 1) + 1)


def root_of(divergence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root of divergences; values below zero by rounding count as zero."""
    return np.sqrt(np.maximum(divergence, 0.0))


def tree_of(divergence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scipy's average linkage of heads on the root of their divergence, `[head - 1, 4]`."""
    from scipy.cluster.hierarchy import linkage

    a, b = np.triu_indices(len(divergence), k=1)
    if not len(a):
        return np.zeros((0, 4))
    return np.asarray(linkage(root_of(divergence)[a, b], method="average"), dtype=np.float64)


def cut(tree: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Cut a tree into at most `number` clusters; return the cluster of each head, 1-based by size, `[head]`."""
    from scipy.cluster.hierarchy import fcluster

    if not len(tree):
        return np.ones(1, dtype=np.int64)
    clusters = fcluster(tree, number, criterion="maxclust")
    _, first, indices, size = np.unique(clusters, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort((first, -size))] = np.arange(1, len(first) + 1)
    return rank[indices]


def medoid(divergence: NDArray[np.float64], members: NDArray[np.int64]) -> int:
    """Return the first member with the smallest mean divergence to the other members."""
    return int(members[np.argmin(divergence[np.ix_(members, members)].sum(1))])


def _height(tree: NDArray[np.float64], number: int) -> float:
    """Return the mean of the heights of the last join below the cut and the first above it."""
    heights = tree[:, 2]
    if not len(heights):
        return 0.0
    if number == 1:
        return float(heights[-1])
    last_kept = float(heights[-number]) if number <= len(heights) else 0.0
    return (last_kept + float(heights[-(number - 1)])) / 2
