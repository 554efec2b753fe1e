"""Distances between heads: whether heads of a layer are alike, and which clusters and pairs of heads are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from headscope.analyses.distances.clusters import NO_STRUCTURE, STABLE
from headscope.analyses.distances.clusters import WEAK_STRUCTURE as WEAK_STRUCTURE
from headscope.analyses.distances.page_rows import (
    MAP,
    TREE,
    cluster_rows,
    head_maps,
    head_rows,
    head_tree,
    is_measured,
    map_and_nearest,
    of_kind,
    pair_rows,
    stress,
)
from headscope.analyses.distances.page_rows import MOST_HEADS as MOST_HEADS
from headscope.analyses.distances.page_rows import MOST_IN_TREE as MOST_IN_TREE
from headscope.analyses.distances.sums import DIVERGENCE_GROUPS as DIVERGENCE_GROUPS
from headscope.analyses.distances.sums import FEWEST_GROUPS as FEWEST_GROUPS
from headscope.analyses.distances.tables import heads_of_pair, nearest_pairs
from headscope.present.cells import Cell, cell_of, number, records
from headscope.present.claim_rules import leading, turned
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import MOST_LISTED, Bars, HeadRef, numbered
from headscope.present.numbers import nats
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_DIVERGENCE, SIGNIFICANT, false_discovery
from headscope.statistics.roles import OTHERWISE
from headscope.statistics.sums.groups import GROUPS as GROUPS

ONE_ROLE = 0.75
"""A cluster has a role if at least this share of its heads has it."""


@dataclass(frozen=True, kw_only=True)
class DistanceFact(Fact):
    """A claim on the heads of a kind of attention."""

    kind: Kind
    topic = "distances"
    rank = 80


@dataclass(frozen=True, kw_only=True)
class NoLayerEffect(DistanceFact):
    """The model has no two heads of one layer, or no two layers."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class LayerEffect(DistanceFact):
    """The mean divergence of two heads of one layer, that of two layers, and their difference with its p and q.

    `all_alike` is true if heads are too similar for claims on pairs, layers and clusters.
    """

    same_layer: float
    between: float
    effect: Cell
    p: float
    q: float
    all_alike: bool

    @property
    def established(self) -> bool:
        """True if heads of a layer are shown to be more alike than others, by a difference that matters."""
        return self.q < SIGNIFICANT and self.effect.value >= LEAST_DIVERGENCE and not self.effect.ci_low <= 0

    @property
    def excluded(self) -> bool:
        """True if the interval excludes every difference that matters."""
        return self.effect.ci_low > -LEAST_DIVERGENCE and self.effect.ci_high < LEAST_DIVERGENCE


@dataclass(frozen=True, kw_only=True)
class Clustering(DistanceFact):
    """The clusters of the tree: how many are stable over documents, and the names of the others with several heads.

    `apart` is true if a cluster is separated from the others, `tested` if stability was tested.
    """

    clusters: int
    apart: bool
    tested: bool
    stable: int
    unstable: Sequence[str]
    silhouette: float
    adjusted_rand: Cell


@dataclass(frozen=True, kw_only=True)
class OneRole(DistanceFact):
    """A stable cluster whose heads mostly share a role; the last one has the numbers of the clusters without a name.

    `more` of these are stable, `unstable` are not. If no stable cluster has a role, `cluster` is None.
    """

    cluster: int | None = None
    role: str = ""
    heads: int = 0
    size: int = 0
    more: int = 0
    unstable: int = 0
    tested: bool = True


@dataclass(frozen=True, kw_only=True)
class NearestPair(DistanceFact):
    """The two heads that are shown to be nearer to each other than any other two."""

    first: HeadRef
    second: HeadRef
    divergence: Cell


def distance_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on distances between heads; none where they were not measured."""
    if not is_measured(about):
        return
    tables = about.run.tables
    rows = records(tables["layer_effect"])
    q_values = false_discovery(np.array([number(row["p"]) for row in rows]))
    for row, q in zip(rows, q_values.tolist(), strict=True):
        kind = about.kind(str(row["kind"]))
        within, between, p = (number(row[name]) for name in ("within", "between", "p"))
        all_alike = max((each for each in (within, between) if not isnan(each)), default=1.0) < LEAST_DIVERGENCE
        effect = cell_of(row, "effect")
        if effect.exists:
            yield LayerEffect(
                kind=kind, same_layer=within, between=between, effect=effect, p=p, q=q, all_alike=all_alike,
                figure=Bars((("one layer", within, nats(within)), ("two layers", between, nats(between)))),
            )  # fmt: skip
        else:
            yield NoLayerEffect(kind=kind, reason=str(row["reason"]))
        if all_alike:
            continue  # nearest pairs and clusters are meaningless
        clusters = of_kind(about, "head_clusters", kind)
        if len(clusters) > 1:  # a single cluster of all heads is neither a cluster nor a group of a role
            yield (clustering := _clustering(row, clusters, kind))
            if clustering.apart:
                yield from _by_role(of_kind(about, "head_map", kind), clusters, kind)
        yield from _nearest(tables["head_distances"], kind)


def _clustering(effect: dict[str, Any], clusters: pd.DataFrame, kind: Kind) -> Clustering:
    tested = clusters["stability"].notna()
    unstable = (clusters["size"] > 1) & tested & ~is_stable(clusters)
    return Clustering(
        kind=kind,
        clusters=len(clusters),
        apart=bool((clusters["silhouette"] > NO_STRUCTURE).any()),
        tested=bool(tested.any()),
        stable=int(is_stable(clusters).sum()),
        unstable=clusters.loc[unstable, "cluster"].astype(str).tolist(),
        silhouette=number(effect["silhouette"]),
        adjusted_rand=cell_of(effect, "adjusted_rand", "adjusted_rand"),
    )


def is_stable(clusters: pd.DataFrame) -> pd.Series:
    """Return True for each cluster that a sentence may name: it has several heads, and is stable over documents."""
    return (clusters["size"] > 1) & (clusters["stability"] >= STABLE)


def _by_role(heads: pd.DataFrame, clusters: pd.DataFrame, kind: Kind) -> Iterator[OneRole]:
    """Yield the clusters whose heads mostly share a role, which is the paper's question."""
    stable = set(clusters.loc[is_stable(clusters), "cluster"])
    every = [
        (cluster, heads.loc[heads["cluster"] == cluster, "role"]) for cluster in sorted(set(heads["cluster"].tolist()))
    ]
    several = [(cluster, roles) for cluster, roles in every if len(roles) > 1]
    q_values = false_discovery(np.array([_by_chance(roles, heads["role"]) for _, roles in several]))
    named, unstable = list[OneRole](), 0
    for (cluster, roles), q in zip(several, q_values.tolist(), strict=True):
        role, most = next(iter(Counter(roles.dropna()).most_common(1)), ("", 0))
        if q >= SIGNIFICANT or role in ("", OTHERWISE) or most < ONE_ROLE * len(roles):
            continue
        if cluster in stable:
            named.append(OneRole(kind=kind, cluster=cluster, role=str(role), heads=most, size=len(roles)))
        else:
            unstable += 1
    if named or unstable:
        *first, last = named[:MOST_LISTED] or [OneRole(kind=kind)]
        more, tested = len(named[MOST_LISTED:]), bool(clusters["stability"].notna().any())
        yield from (*first, replace(last, more=more, unstable=unstable, tested=tested))


def _by_chance(members: pd.Series, heads: pd.Series) -> float:
    """Return the p-value of the share of a cluster's most frequent role, if clusters were drawn at random.

    Args:
        members: roles of the heads of a cluster.
        heads: roles of all heads; each of them could have been the most frequent one.
    """
    of_cluster, of_all = (Counter(roles[roles != OTHERWISE].dropna()) for roles in (members, heads))
    for role, most in of_cluster.most_common(1):
        chance = hypergeom.sf(most - 1, len(heads), of_all[role], len(members))
        return min(1.0, len(of_all) * float(chance))
    return 1.0


def _nearest(pairs: pd.DataFrame, kind: Kind) -> Iterator[NearestPair]:
    """Yield the two heads that attend most alike, if they are shown to be nearer than any other two."""
    rows = records(nearest_pairs(pairs, kind=kind.name, most=len(pairs)))
    cells = [cell_of(row, "divergence") for row in rows]
    if leading([turned(cell) for cell in cells], least=0.0):
        first, second = (numbered(kind.name, *head) for head in heads_of_pair(rows[0]))
        yield NearestPair(kind=kind, first=first, second=second, divergence=cells[0])


PAGE = Page(
    __name__, distance_facts, uses=(is_measured, stress, head_maps, head_rows, cluster_rows, head_tree, pair_rows)
)
PARTS = PAGE.parts(
    figures=(MAP, TREE),
    group="alike",
    explained=("head_map",),
    cards=map_and_nearest,
    needed={"distances": ("head_distances", "run headscope report again")},
)
