"""From divergences to the tables of the map: places, clusters, and what layers have to do with them."""

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
from headscope.statistics.table_schema import TableSchema

HeadNumber = tuple[str, int, int]
"""(kind, layer, head), 1-based."""


@dataclass(frozen=True)
class _Kind:
    """What one kind of attention came to."""

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
        finds: what heads find; None where nobody looked, and null in the table.
        seed: of the map, the resamples and the permutations.
        resamples: of the documents, for the clusters' stability.

    Returns:
        `head_map`: a row a head: its place in nats, cluster, role, and what it finds, joined by commas.
        `head_clusters`: a row a cluster: heads, stability (mean Jaccard index with its likest cluster over resampled
        documents, with 95% percentiles), silhouette, the head in its middle, mean divergence within it.
        `layer_effect`: a row a kind: divergences within and between layers, their difference with interval and p, the
        map's stress, and how many clusters of what silhouette and adjusted Rand index on resampled documents.
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
        "head_map": _frame([_places(kind, roles, finds) for kind in kinds], HEAD_MAP),
        "head_clusters": _frame([_clusters(kind) for kind in kinds], HEAD_CLUSTERS),
        "layer_effect": _frame([_effect(kind) for kind in kinds], LAYER_EFFECT),
    }


def _places(
    kind: _Kind, named: Mapping[HeadNumber, str], found: Mapping[HeadNumber, Sequence[str]] | None
) -> pd.DataFrame:
    number = np.arange(len(kind.result.divergence))
    layer, head = number // kind.result.heads + 1, number % kind.result.heads + 1
    keys = [(kind.result.kind, int(a), int(b)) for a, b in zip(layer, head, strict=True)]
    told = [None if found is None else ",".join(found.get(key, [])) for key in keys]
    return pd.DataFrame(
        {
            "kind": kind.result.kind,
            "layer": layer,
            "head": head,
            "x": kind.embedding.x,
            "y": kind.embedding.y,
            "cluster": kind.clusters.labels,
            "role": pd.Series([named.get(key) for key in keys], dtype=object),
            "finds": pd.Series(told, dtype=object),
        }
    )


def _clusters(kind: _Kind) -> pd.DataFrame:
    rows = []
    for number in range(1, kind.clusters.number + 1):
        members = np.flatnonzero(kind.clusters.labels == number)
        middle = medoid(kind.result.divergence, members)
        a, b = np.triu_indices(len(members), k=1)
        apart = kind.result.divergence[np.ix_(members, members)][a, b]
        # A single head is itself on any documents: that is no stable cluster.
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


def _frame(parts: list[pd.DataFrame], schema: TableSchema) -> pd.DataFrame:
    names = schema.names
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)
