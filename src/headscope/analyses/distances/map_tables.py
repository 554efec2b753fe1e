"""The tables of the map of heads, from divergences: coordinates, clusters, and the layer effect."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distances.clusters import Clusters, cluster, medoid
from headscope.analyses.distances.embedding import Embedding, embed
from headscope.analyses.distances.layer_effect import LayerEffect, layer_effect
from headscope.analyses.distances.result import DivergenceResult
from headscope.analyses.distances.stability import RESAMPLES, Stability, stability
from headscope.analyses.distances.tables import HEAD_CLUSTERS, HEAD_MAP, LAYER_EFFECT

HeadNumber = tuple[str, int, int]
"""(kind, layer, head), 1-based."""


@dataclass(frozen=True)
class _Kind:
    """The results of one kind of attention."""

    result: DivergenceResult
    embedding: Embedding
    clusters: Clusters
    stability: Stability
    effect: LayerEffect


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
        roles: of heads; null in the table where a head has none.
        finds: relations that heads find; None where they were not measured, null in the table.
        seed: of the map, the resamples and the permutations.
        resamples: of the documents, for the clusters' stability.

    Returns:
        `head_map`: a row per head: its coordinates in nats, cluster, role, and what it finds, joined by commas.
        `head_clusters`: a row per cluster: heads, stability (mean Jaccard index with its most similar cluster over
        resampled documents, with 95% percentiles), silhouette, medoid, mean divergence within it.
        `layer_effect`: a row per kind: divergences within and between layers, their difference with interval and p, the
        map's stress, and the number of clusters with their silhouette and adjusted Rand index on resampled documents.
    """
    kinds = [
        _Kind(
            result=result,
            embedding=embed(result.divergence, seed=seed),
            clusters=(clusters := cluster(result.divergence)),
            stability=stability(result, clusters, resamples=resamples, seed=seed),
            effect=layer_effect(result, seed=seed),
        )
        for result in results
    ]
    return {
        "head_map": HEAD_MAP.frame(row for kind in kinds for row in _head_rows(kind, roles, finds)),
        "head_clusters": HEAD_CLUSTERS.frame(row for kind in kinds for row in _clusters(kind)),
        "layer_effect": LAYER_EFFECT.frame(map(_effect, kinds)),
    }


def _head_rows(
    kind: _Kind, roles: Mapping[HeadNumber, str], finds: Mapping[HeadNumber, Sequence[str]] | None
) -> Iterator[dict[str, Any]]:
    columns = (kind.embedding.x, kind.embedding.y, kind.clusters.labels)
    for number, (x, y, label) in enumerate(zip(*columns, strict=True)):
        head = (kind.result.kind, number // kind.result.heads + 1, number % kind.result.heads + 1)
        names = None if finds is None else ",".join(finds.get(head, []))
        more = {"x": x, "y": y, "cluster": label, "role": roles.get(head), "finds": names}
        yield {**dict(zip(("kind", "layer", "head"), head)), **more}


def _clusters(kind: _Kind) -> Iterator[dict[str, Any]]:
    for number in range(1, kind.clusters.number + 1):
        members = np.flatnonzero(kind.clusters.labels == number)
        middle = medoid(kind.result.divergence, members)
        a, b = np.triu_indices(len(members), k=1)
        apart = kind.result.divergence[np.ix_(members, members)][a, b]
        # A single head is trivially the same on other documents, so its stability is undefined.
        mean, low, high = kind.stability.jaccard[:, number - 1] if len(members) > 1 else np.full(3, np.nan)
        yield {
            "kind": kind.result.kind,
            "cluster": number,
            "size": len(members),
            **{"stability": mean, "ci_low": low, "ci_high": high},
            "silhouette": kind.clusters.silhouettes[number - 1],
            "medoid_layer": middle // kind.result.heads + 1,
            "medoid_head": middle % kind.result.heads + 1,
            "divergence": apart.mean() if len(apart) else np.nan,
            "n_rows": kind.result.n,
        }


def _effect(kind: _Kind) -> dict[str, Any]:
    rand = zip(("adjusted_rand", "adjusted_rand_low", "adjusted_rand_high"), kind.stability.adjusted_rand)
    effect = vars(kind.effect)
    return {
        "kind": kind.result.kind,
        **effect,
        **{"ci_low": effect["low"], "ci_high": effect["high"], "n_rows": effect["n"]},
        "stress": kind.embedding.stress,
        "clusters": kind.clusters.number,
        "silhouette": kind.clusters.silhouette,
        **dict(rand),
    }
