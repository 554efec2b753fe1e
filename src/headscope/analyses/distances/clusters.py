"""Heads in the plane, a tree of heads by average linkage, its cut into clusters, and their stability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.sums import DivergenceResult
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, resampling_weights

RESTARTS = 4
MOST_RESTARTED = 400
"""With more heads only the classical start is tried, which was as good as 16 random ones on 72 heads."""


def embed(
    divergence: NDArray[np.float64], *, seed: int = 0, restarts: int = RESTARTS
) -> tuple[NDArray[np.float64], float]:
    """Embed heads in the plane by metric scaling of their divergences (scikit-learn's SMACOF; section 6, figure 6).

    It starts from the classical solution and from random points, and keeps the result with the least stress.

    Args:
        divergence: in nats, symmetric with a zero diagonal, `[head, head]`.
        seed: seed of the random starts.
        restarts: number of random starts.

    Returns:
        The heads' coordinates in nats, `[head, 2]`, centered, with the longer axis along x; and Kruskal's stress-1,
        the root of the sum of squared errors over the sum of squared distances in the plane: 0 is exact, 0.1 fair,
        0.2 poor.
    """
    from sklearn.manifold import MDS

    heads = len(divergence)
    if heads < 2 or not divergence.any():
        # All heads are at one point, without error.
        return np.zeros((heads, 2)), 0.0
    best, least = np.zeros((heads, 2)), np.inf
    for init, starts in (("classical_mds", 1), ("random", restarts if heads <= MOST_RESTARTED else 0)):
        if starts < 1:
            continue
        scaling = MDS(
            metric="precomputed", init=init, n_init=starts, max_iter=500, random_state=seed, normalized_stress=True
        )
        points = np.asarray(scaling.fit_transform(divergence), dtype=np.float64)
        # A random start that is no better beyond rounding does not replace the classical one.
        if scaling.stress_ < least - 1e-9:
            best, least = points, float(scaling.stress_)
    turned = _turned(best)
    return turned, stress_of(turned, divergence)


def stress_of(points: NDArray[np.float64], divergence: NDArray[np.float64]) -> float:
    """Return Kruskal's stress-1 of points `[head, 2]` for the divergences `[head, head]`; 0 if all points coincide."""
    a, b = np.triu_indices(len(points), k=1)
    apart = np.linalg.norm(points[a] - points[b], axis=1)
    total = float((apart**2).sum())
    return float(np.sqrt(((apart - divergence[a, b]) ** 2).sum() / total)) if total > 0 else 0.0


def _turned(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Center and rotate to the principal axes, longer tails right and up, so that the figure is reproducible."""
    centered = points - points.mean(0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    turned = centered @ axes.T
    tails = (turned**3).sum(0)
    return np.asarray(turned * np.where(tails < 0, -1.0, 1.0), dtype=np.float64)


FEWEST_CLUSTERS, MOST_CLUSTERS = 4, 12
"""Cuts into fewer than four clusters mostly separate a few outliers from all other heads."""
_HEADS_A_CLUSTER = 6
NO_STRUCTURE, WEAK_STRUCTURE = 0.25, 0.5
"""Mean silhouettes up to which clusters show no substantial structure, or a weak one (Kaufman and Rousseeuw 1990)."""
RESAMPLES = 200
STABLE = 0.75
"""A cluster with a mean Jaccard index below this is unstable (Hennig 2007), and sentences do not mention it."""


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


def stability(
    result: DivergenceResult, clusters: Clusters, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Resample groups of documents, cluster the heads again into the same number of clusters, and compare.

    Args:
        result: divergences with their sums by group of documents.
        clusters: clusters from the divergences of all documents.
        resamples: number of resamples.
        seed: seed of the resamples.

    Returns:
        For each cluster the mean over resamples of its Jaccard index with the most similar cluster, and its 2.5 and
        97.5 percentiles, `[3, cluster]`; and the same for the adjusted Rand index of the whole partition, `[3]`. All
        are NaN if there are fewer than 10 documents, or only one cluster.
    """
    groups = len(result.group_rows)
    if result.documents < FEWEST_DOCUMENTS or clusters.number < 2:
        return np.full((3, clusters.number), np.nan), np.full(3, np.nan)
    overlaps, agreements = np.empty((resamples, clusters.number)), np.empty(resamples)
    # One draw fewer than groups, so that resamples vary as new documents would (Rao and Wu 1988).
    draws = resampling_weights(groups, draws=groups - 1, resamples=resamples, seed=seed)
    for index, counts in enumerate(draws):
        both = shared(clusters.labels, cut(tree_of(result.resampled(counts)), clusters.number))
        overlaps[index], agreements[index] = best_jaccard(both), adjusted_rand(both)
    return _mean_and_percentiles(overlaps), _mean_and_percentiles(agreements)


def shared(labels: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of heads that each cluster of `labels` shares with each of `others`, `[cluster, other]`."""
    both = np.zeros((labels.max(), others.max()))
    np.add.at(both, (labels - 1, others - 1), 1)
    return both


def best_jaccard(both: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each cluster its largest Jaccard index with a cluster of the others, from `shared`, `[cluster]`."""
    either = both.sum(1, keepdims=True) + both.sum(0, keepdims=True) - both
    return np.asarray((both / either).max(1), dtype=np.float64)


def adjusted_rand(both: NDArray[np.float64]) -> float:
    """Return the adjusted Rand index of two partitions from `shared`: 1 for the same, 0 on average by chance."""
    together, left, right, every = (
        float((counts * (counts - 1) / 2).sum()) for counts in (both, both.sum(1), both.sum(0), both.sum())
    )
    expected = left * right / max(every, 1.0)
    most = (left + right) / 2
    return (together - expected) / (most - expected) if most != expected else 1.0


def _mean_and_percentiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean and the 2.5 and 97.5 percentiles over resamples, `[3, ...]`."""
    return np.stack([values.mean(0), *np.percentile(values, [2.5, 97.5], axis=0)])
