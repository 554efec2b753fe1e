"""The stability of clusters over resampled documents."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.clusters import Clusters, cut, tree_of
from headscope.analyses.distances.result import DivergenceResult
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, resampling_weights

RESAMPLES = 200
STABLE = 0.75
"""A cluster with a mean Jaccard index below this is unstable (Hennig 2007), and sentences do not mention it."""


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
