"""The tables of the map of heads, from divergences: coordinates, clusters, and the layer effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.clusters import Clusters, cluster, medoid
from headscope.analyses.distances.embedding import embed
from headscope.analyses.distances.layer_effect import layer_effect
from headscope.analyses.distances.result import DivergenceResult
from headscope.analyses.distances.stability import RESAMPLES, stability
from headscope.analyses.distances.tables import MAP_TABLES

HeadNumber = tuple[str, int, int]
"""(kind, layer, head), 1-based."""


def map_tables(
    results: Sequence[DivergenceResult],
    *,
    roles: Mapping[HeadNumber, str],
    finds: Mapping[HeadNumber, Sequence[str]] | None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, pd.DataFrame]:
    """Embed and cluster the heads of each kind, and compare heads of a layer with those of others.

    Args:
        results: one for each kind of attention.
        roles: roles of heads; null in the table for a head without a role.
        finds: relations that heads find; None where they were not measured, then null in the table.
        seed: seed of the map, the resamples and the permutations.
        resamples: number of resamples of the documents, for the clusters' stability.

    Returns:
        `head_map`: a row per head: its coordinates in nats, cluster, role, and the relations it finds, comma-separated.
        `head_clusters`: a row per cluster: heads, stability (mean Jaccard index with its most similar cluster over
        resampled documents, with 95% percentiles), silhouette, medoid, mean divergence within it.
        `layer_effect`: a row per kind: divergences within and between layers, their difference with interval and p, the
        map's stress, and the number of clusters with their silhouette and adjusted Rand index on resampled documents.
    """
    heads: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    effects: list[dict[str, Any]] = []
    for result in results:
        points, stress = embed(result.divergence, seed=seed)
        clusters = cluster(result.divergence)
        jaccard, rand = stability(result, clusters, resamples=resamples, seed=seed)
        heads += _heads(result, points, clusters, roles, finds)
        groups += _groups(result, clusters, jaccard)
        effect = {"kind": result.kind, **layer_effect(result, seed=seed), "stress": stress}
        agreement = dict(zip(("adjusted_rand", "adjusted_rand_low", "adjusted_rand_high"), rand, strict=True))
        effects.append({**effect, "clusters": clusters.number, "silhouette": clusters.silhouette, **agreement})
    rows_of_tables = zip(MAP_TABLES, (heads, groups, effects), strict=True)
    return {schema.name: schema.frame(rows) for schema, rows in rows_of_tables}


def _heads(
    result: DivergenceResult,
    points: NDArray[np.float64],
    clusters: Clusters,
    roles: Mapping[HeadNumber, str],
    finds: Mapping[HeadNumber, Sequence[str]] | None,
) -> Iterator[dict[str, Any]]:
    for number, ((x, y), label) in enumerate(zip(points, clusters.labels, strict=True)):
        head = (result.kind, number // result.heads + 1, number % result.heads + 1)
        names = None if finds is None else ",".join(finds.get(head, []))
        more = {"x": x, "y": y, "cluster": label, "role": roles.get(head), "finds": names}
        yield {**dict(zip(("kind", "layer", "head"), head)), **more}


def _groups(result: DivergenceResult, clusters: Clusters, jaccard: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    for number in range(1, clusters.number + 1):
        members = np.flatnonzero(clusters.labels == number)
        middle = medoid(result.divergence, members)
        a, b = np.triu_indices(len(members), k=1)
        apart = result.divergence[np.ix_(members, members)][a, b]
        # A single head is trivially the same on other documents, so its stability is undefined.
        mean, low, high = jaccard[:, number - 1] if len(members) > 1 else np.full(3, np.nan)
        yield {
            "kind": result.kind,
            "cluster": number,
            "size": len(members),
            **{"stability": mean, "ci_low": low, "ci_high": high},
            "silhouette": clusters.silhouettes[number - 1],
            "medoid_layer": middle // result.heads + 1,
            "medoid_head": middle % result.heads + 1,
            "divergence": apart.mean() if len(apart) else np.nan,
            "n_rows": result.n,
        }
