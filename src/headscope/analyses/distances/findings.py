"""Findings on the distances between heads: layers, clusters, and the most similar heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from headscope.analyses.distances.clusters import NO_STRUCTURE, structure
from headscope.analyses.distances.pair_table import nearest_pairs
from headscope.analyses.distances.stability import STABLE
from headscope.report_kit.claim_rules import leading, turned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, numbered, sentence
from headscope.report_kit.numbers import nats, p_words, span, two_decimals
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Bars
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import Words, count, join_first, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import SIGNIFICANT, false_discovery
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE
from headscope.statistics.role_catalog import OTHERWISE

TOPIC = "distances"
ONE_ROLE = 0.75
"""A cluster has a role if at least this share of its heads has it."""


def distances_findings(about: Context) -> list[Sentence]:
    """Return the sentences on distances between heads; empty where they were not measured."""
    effects, head_table, every, pairs = (
        about.run.tables.get(name) for name in ("layer_effect", "head_map", "head_clusters", "head_distances")
    )
    if effects is None or head_table is None or every is None:
        return []
    findings: list[Sentence] = []
    rows = records(effects)
    q_values = false_discovery(np.array([number(row["p"]) for row in rows]))
    for row, q in zip(rows, q_values.tolist(), strict=True):
        kind = about.kind(str(row["kind"]))
        heads, clusters = (table[table["kind"] == kind.name] for table in (head_table, every))
        findings += kind.findings(_layers(row, q, kind))
        if are_alike(row):
            continue  # among heads that are all alike, nearest pairs and clusters are meaningless
        if len(clusters) > 1:  # a single cluster of all heads is neither a cluster nor a group of a role
            findings += kind.findings(_tree(row, clusters, kind))
            findings += kind.findings(_by_role(heads, clusters, about.words, kind))
        findings += kind.findings(_nearest(pairs, kind))
    return findings


def are_alike(effect: Mapping[Any, Any]) -> bool:
    """Return True if heads are, on average, too similar for findings on pairs, layers and clusters.

    Args:
        effect: row of `tables/layer_effect.parquet`.
    """
    known = [number(effect[name]) for name in ("within", "between") if not isnan(number(effect[name]))]
    return bool(known) and max(known) < LEAST_DIVERGENCE


def _layers(row: dict[str, Any], q: float, kind: Kind) -> Iterator[Sentence]:
    """Yield the comparison of distances within and between layers, and the distances themselves.

    Args:
        row: row of `tables/layer_effect.parquet`.
        q: q-value of the test that layers make no difference, over all kinds of attention.
        kind: kind of attention.
    """
    whose = f"{kind.noun}s"
    within, between, effect, p = (number(row[name]) for name in ("within", "between", "effect", "p"))
    if isnan(effect):
        yield sentence(TOPIC, f"whether {whose} of a layer are alike cannot be said: {plain(row['reason'])}.")
        return
    low, high = number(row["ci_low"]), number(row["ci_high"])
    ends = "" if isnan(low) else f" (95% interval of the difference {span(low, high)})"
    if are_alike(row):
        claim = f"attend alike, as do {whose} of different layers"
    elif q < SIGNIFICANT and effect >= LEAST_DIVERGENCE and not low <= 0:
        ends = "" if isnan(low) else f" (95% interval {span(low, high)})"
        claim = f"are more alike than heads of different layers, by {nats(effect)} nats{ends}"
    elif low > -LEAST_DIVERGENCE and high < LEAST_DIVERGENCE:
        claim = f"are as alike as heads of different layers, within {LEAST_DIVERGENCE:g} nats{ends}"
    else:
        claim = f"are not shown to be more alike than heads of different layers{ends}"
    bars = Bars((("one layer", within, nats(within)), ("two layers", between, nats(between))))
    yield sentence(TOPIC, f"{whose} of a layer {claim}.", figure=bars)
    apart = f"{nats(within)} nats apart, two of different layers {nats(between)}"
    yield continued(TOPIC, f"on average two {whose} of a layer are {apart}.")
    if not are_alike(row):
        yield continued(TOPIC, f"For the test the layers of {whose} were permuted: {p_words(p)}.")


def _tree(row: dict[str, Any], clusters: pd.DataFrame, kind: Kind) -> Iterator[Sentence]:
    yield sentence(TOPIC, f"{trust(clusters, of=f' of {kind.noun}s')}.")
    silhouette, rand = number(row["silhouette"]), number(row["adjusted_rand"])
    if not set_apart(clusters):
        return
    yield from _untrusted(clusters, kind)
    weak = structure(silhouette)
    best = f"the mean silhouette is best, at {two_decimals(silhouette)}{weak and f', which shows {weak}'}"
    yield continued(TOPIC, f"The tree of {kind.noun}s is cut where {best}.")
    if not isnan(rand):
        low, high = number(row["adjusted_rand_low"]), number(row["adjusted_rand_high"])
        agreement = f"adjusted Rand index {rand:.2f} (95% of resamples {low:.2f} to {high:.2f})"
        yield continued(TOPIC, f"Clusters of {kind.noun}s agree on resampled documents: {agreement}.")


def _untrusted(clusters: pd.DataFrame, kind: Kind) -> Iterator[Sentence]:
    """Yield the clusters that are not stable if others are; a single head does not count as a cluster."""
    stable = trusted(clusters)
    tested = clusters[(clusters["size"] > 1) & clusters["stability"].notna()]
    others = [str(label) for label in tested["cluster"] if int(label) not in stable]
    if stable and others:
        of = f" of {kind.noun}s" if kind.prefix else ""
        what = "cluster" if len(others) == 1 else "clusters"
        yield continued(TOPIC, f"Not to be trusted{of}: {what} {join_first(others, most=MOST_LISTED)}.")


def trust(clusters: pd.DataFrame, *, of: str = "") -> str:
    """Return the number of clusters of a kind that are stable over documents, or that stability was not tested.

    Args:
        clusters: clusters of one kind.
        of: name of the members, such as ` of heads`.
    """
    stable, number = trusted(clusters), f"{count(len(clusters), 'cluster')}{of}"
    if not set_apart(clusters):
        why = f"the best of its cuts has no cluster with a mean silhouette above {NO_STRUCTURE:g}"
        return f"the tree{of} shows no clusters: {why}"
    if clusters["stability"].isna().all():
        untested = f"not tested, which needs at least {FEWEST_DOCUMENTS} documents"
        return f"whether other documents would give the {number} again was {untested}"
    why = f"a stability of {STABLE:g} or more"
    if not stable:
        return f"none of {number} is to be trusted: none has {why}"
    if len(stable) == len(clusters):
        return f"all {number} have {why}"
    have = "has" if len(stable) == 1 else "have"
    return f"{len(stable):,} of {number} {have} {why}; the others are not to be trusted"


def set_apart(clusters: pd.DataFrame) -> bool:
    """Return True if a cluster of several heads is separated from the others, so that there are clusters to report."""
    return bool((clusters["silhouette"] > NO_STRUCTURE).any())


def trusted(clusters: pd.DataFrame) -> set[int]:
    """Return the clusters that a sentence may name: those with several heads that are stable over documents."""
    return set(clusters.loc[(clusters["size"] > 1) & (clusters["stability"] >= STABLE), "cluster"])


def _by_role(heads: pd.DataFrame, clusters: pd.DataFrame, words: Words, kind: Kind) -> Iterator[Sentence]:
    """Yield a sentence on each cluster whose heads mostly share a role, which is the paper's question.

    Stable clusters are named, at most three. The others are counted, with the reason why they are not named.
    """
    stable, named, unnamed = trusted(clusters), 0, 0
    if not set_apart(clusters):
        return
    of = f" of {kind.noun}s" if kind.prefix else ""
    several = [(cluster, members) for cluster, members in heads.groupby("cluster") if len(members) > 1]
    q_values = false_discovery(np.array([_by_chance(members["role"], heads["role"]) for _, members in several]))
    for (cluster, members), q in zip(several, q_values.tolist(), strict=True):
        role, most = next(iter(Counter(members["role"].dropna()).most_common(1)), ("", 0))
        if q >= SIGNIFICANT or role in ("", OTHERWISE) or most < ONE_ROLE * len(members):
            continue
        is_stable = cluster in stable
        named, unnamed = named + is_stable, unnamed + (not is_stable)
        if is_stable and named <= MOST_LISTED:
            share = f"{words.roles.get(str(role), plain(role))}, in {most:,} of {len(members):,} {kind.noun}s"
            yield sentence(TOPIC, f"cluster {cluster} is mostly of one role: {share}.")
    if (more := named - MOST_LISTED) > 0:
        are = "is" if more == 1 else "are"
        yield continued(TOPIC, f"{count(more, 'more cluster')}{of} {are} mostly of one role.")
    if unnamed:
        are, its = ("is", "its") if unnamed == 1 else ("are", "their")
        untested = f"was not tested, which needs at least {FEWEST_DOCUMENTS} documents"
        why = untested if clusters["stability"].isna().all() else f"lies below {STABLE:g}"
        other = count(unnamed, "more cluster" if named else "cluster")
        text = f"{other}{of} {are} mostly of one role, and not named: {its} stability {why}."
        yield sentence(TOPIC, text, goes_on=bool(named))


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


def _nearest(pairs: pd.DataFrame | None, kind: Kind) -> Iterator[Sentence]:
    """Yield the two heads that attend most alike, if they are shown to be nearer than any other two."""
    if pairs is None:
        return
    rows = records(nearest_pairs(pairs, kind=kind.name, most=len(pairs)))
    cells = [turned(cell_of(row, "divergence")) for row in rows]
    for row in rows[: leading(cells, least=0.0)]:
        first, second = (
            numbered(kind.name, int(row[f"layer_{side}"]), int(row[f"head_{side}"])) for side in ("a", "b")
        )
        ends = span(number(row["ci_low"]), number(row["ci_high"]))
        least = f"{nats(number(row['divergence']))} nats apart" + (f" (95% interval {ends})" if ends else "")
        start = f"the two {kind.noun}s nearest to each other are "
        yield sentence(TOPIC, start, first, " and ", second, f", {least}.")
