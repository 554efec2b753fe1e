"""The tables of the map of heads, from divergences: coordinates, clusters, and the layer effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.analyses.distances.clusters import Clusters, cluster, medoid
from headscope.analyses.distances.embedding import Embedding, embed
from headscope.analyses.distances.layer_effect import LayerEffect, layer_effect
from headscope.analyses.distances.result import DivergenceResult
from headscope.analyses.distances.stability import RESAMPLES, Stability, stability
from headscope.analyses.distances.tables import HEAD_CLUSTERS, HEAD_MAP, LAYER_EFFECT
from headscope.statistics.tables.table_schema import TableSchema

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
    kinds = []
    for result in results:
        clusters = cluster(result.divergence)
        kinds.append(
            _Kind(
                result=result,
                embedding=embed(result.divergence, seed=seed),
                clusters=clusters,
                stability=stability(result, clusters, resamples=resamples, seed=seed),
                effect=layer_effect(result, seed=seed),
            )
        )
    return {
        "head_map": _frame([_head_rows(kind, roles, finds) for kind in kinds], HEAD_MAP),
        "head_clusters": _frame([_clusters(kind) for kind in kinds], HEAD_CLUSTERS),
        "layer_effect": _frame([_effect(kind) for kind in kinds], LAYER_EFFECT),
    }


def _head_rows(
    kind: _Kind, roles: Mapping[HeadNumber, str], finds: Mapping[HeadNumber, Sequence[str]] | None
) -> pd.DataFrame:
    number = np.arange(len(kind.result.divergence))
    layer, head = number // kind.result.heads + 1, number % kind.result.heads + 1
    keys = [(kind.result.kind, int(a), int(b)) for a, b in zip(layer, head, strict=True)]
    names = [None if finds is None else ",".join(finds.get(key, [])) for key in keys]
    return pd.DataFrame(
        {
            "kind": kind.result.kind,
            "layer": layer,
            "head": head,
            "x": kind.embedding.x,
            "y": kind.embedding.y,
            "cluster": kind.clusters.labels,
            "role": pd.Series([roles.get(key) for key in keys], dtype=object),
            "finds": pd.Series(names, dtype=object),
        }
    )


def _clusters(kind: _Kind) -> pd.DataFrame:
    rows = []
    for number in range(1, kind.clusters.number + 1):
        members = np.flatnonzero(kind.clusters.labels == number)
        middle = medoid(kind.result.divergence, members)
        a, b = np.triu_indices(len(members), k=1)
        apart = kind.result.divergence[np.ix_(members, members)][a, b]
        # A single head is trivially the same on other documents, so its stability is undefined.
        mean, low, high = kind.stability.jaccard[:, number - 1] if len(members) > 1 else np.full(3, np.nan)
        rows.append(
            (
                *(
                    kind.result.kind,
                    number,
                    len(members),
                    mean,
                    low,
                    high,
                    kind.clusters.silhouettes[number - 1],
                ),
                *(middle // kind.result.heads + 1, middle % kind.result.heads + 1),
                *(apart.mean() if len(apart) else np.nan, kind.result.n),
            )
        )
    return pd.DataFrame(rows, columns=HEAD_CLUSTERS.names)


def _effect(kind: _Kind) -> pd.DataFrame:
    effect = kind.effect
    row = (
        *(kind.result.kind, effect.within, effect.between, effect.effect, effect.low, effect.high, effect.p),
        *(effect.n, kind.embedding.stress, kind.clusters.number, kind.clusters.silhouette),
        *(*kind.stability.adjusted_rand, effect.reason),
    )
    return pd.DataFrame([row], columns=LAYER_EFFECT.names).astype({"reason": object})


def _frame(tables: list[pd.DataFrame], schema: TableSchema) -> pd.DataFrame:
    names = schema.names
    return pd.concat(tables, ignore_index=True)[names] if tables else pd.DataFrame(columns=names)
