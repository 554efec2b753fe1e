"""Findings on the distances between heads: layers, clusters, and the most similar heads."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.distances.clusters import structure
from headscope.analyses.distances.pair_table import nearest_pairs
from headscope.analyses.distances.stability import STABLE
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, numbered, sentence
from headscope.report_kit.numbers import nats, p_words, span
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import number, records
from headscope.report_kit.words import Words, count, join, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import SIGNIFICANT

TOPIC = "distances"
ONE_ROLE = 0.75
"""A cluster has a role where at least this share of its heads has it."""


def distances_findings(about: Context) -> list[Sentence]:
    """Return the sentences on distances between heads; none where they were not measured."""
    effects, head_table, every, pairs = (
        about.run.tables.get(name) for name in ("layer_effect", "head_map", "head_clusters", "head_distances")
    )
    if effects is None or head_table is None or every is None:
        return []
    words = about.words
    findings: list[Sentence] = []
    for row in records(effects):
        kind = about.kind(str(row["kind"]))
        heads = head_table[head_table["kind"] == kind.name]
        clusters = every[every["kind"] == kind.name]
        findings_of_kind = [
            _layers(row, kind),
            *_tree(row, clusters, kind),
            *_by_role(heads, clusters, words),
            *_nearest(pairs, kind),
        ]
        findings += kind.findings(findings_of_kind)
    return findings


def _layers(row: dict[str, Any], kind: Kind) -> Sentence:
    whose = f"{kind.noun}s"
    within, between, effect, p = (number(row[name]) for name in ("within", "between", "effect", "p"))
    if isnan(effect):
        return sentence(
            TOPIC, f"whether {whose} of a layer are alike cannot be said: {plain(row['reason'])}."
        )
    low, high = number(row["ci_low"]), number(row["ci_high"])
    distances = (
        f"two of a layer are {nats(within)} nats apart on average, two of different layers {nats(between)}"
    )
    ends = f" (95% interval of the difference {span(low, high)})" if not isnan(low) else ""
    if p < SIGNIFICANT and effect > 0 and not low <= 0:
        return sentence(
            TOPIC,
            f"{whose} of a layer are more alike than heads of different layers: {distances}, {nats(effect)} more{ends}"
            f"; {p_words(p)} over permutations of the heads’ layers.",
        )
    return sentence(
        TOPIC,
        f"{whose} of a layer are not shown to be more alike than heads of different layers: {distances}{ends}; "
        f"{p_words(p)} over permutations of the heads’ layers.",
    )


def _tree(row: dict[str, Any], clusters: pd.DataFrame, kind: Kind) -> list[Sentence]:
    if len(clusters) < 2:
        return []
    sizes = [str(int(size)) for size in clusters["size"]]
    text = f"the tree of {kind.noun}s, cut where the silhouette is best, has {len(sizes)} clusters, "
    text += f"of {join(sizes)} heads"
    rand = number(row["adjusted_rand"])
    if not isnan(rand):
        low, high = number(row["adjusted_rand_low"]), number(row["adjusted_rand_high"])
        ends = f"{rand:.2f} (95% of resamples {low:.2f} to {high:.2f})"
        text += (
            f"; on resampled documents the clusters agree with these with an adjusted Rand index of {ends}"
        )
    silhouette = number(row["silhouette"])
    weak = structure(silhouette)
    verdict = f"; a mean silhouette of {silhouette:.2f} shows {weak}" if weak else ""
    return [sentence(TOPIC, f"{text}; {trust(clusters)}{verdict}.")]


def trust(clusters: pd.DataFrame) -> str:
    """Return a sentence on how many clusters of a kind are stable over documents, or that this was not tested."""
    stable, number = trusted(clusters), len(clusters)
    if clusters["stability"].isna().all():
        return (
            "whether other documents would give them again was not tested, which needs at least "
            f"{FEWEST_DOCUMENTS} documents"
        )
    why = f"a stability of {STABLE:g} or more"
    if not stable:
        return f"none of them has {why}, so that none is to be trusted"
    if len(stable) == number:
        return f"all of them have {why}"
    return f"{len(stable):,} of them {'has' if len(stable) == 1 else 'have'} {why}, the others are not to be trusted"


def trusted(clusters: pd.DataFrame) -> set[int]:
    """Return the clusters that a sentence may name: those with several heads that are stable over documents."""
    return {
        int(row["cluster"])
        for row in records(clusters)
        if int(row["size"]) > 1 and number(row["stability"]) >= STABLE
    }


def _by_role(heads: pd.DataFrame, clusters: pd.DataFrame, words: Words) -> list[Sentence]:
    """Return a sentence on clusters whose heads mostly share a role, which is the paper's question.

    Stable clusters are named. The others are counted, with the reason why they are not named.
    """
    if len(clusters) < 2:
        return []  # all heads together are no group of a role
    stable, named, unnamed = trusted(clusters), [], 0
    for cluster in sorted({int(label) for label in heads["cluster"].dropna()}):
        members = heads[heads["cluster"] == cluster]
        role, most = (
            Counter(members["role"].dropna()).most_common(1)[0] if members["role"].notna().any() else ("", 0)
        )
        if len(members) < 2 or role == "mixed" or most < ONE_ROLE * len(members):
            continue
        if cluster not in stable:
            unnamed += 1
            continue
        name = words.roles.get(str(role), plain(role))
        share = f"all {len(members)} heads" if most == len(members) else f"{most} of {len(members)} heads"
        named.append(f"cluster {cluster} ({share}: {name})")
    if clusters["stability"].isna().all():
        why = f"their stability was not tested, which needs at least {FEWEST_DOCUMENTS} documents"
    else:
        why = f"a stability below {STABLE:g} is not to be trusted"
    are = "is" if unnamed == 1 else "are"
    if named:
        rest = f"; {count(unnamed, 'more cluster')} {are} not named, for {why}" if unnamed else ""
        return [
            sentence(TOPIC, f"{join(named)} {'is' if len(named) == 1 else 'are'} mostly of one role{rest}.")
        ]
    if unnamed:
        return [
            sentence(TOPIC, f"{count(unnamed, 'cluster')} {are} mostly of one role, and not named: {why}.")
        ]
    return []


def _nearest(pairs: pd.DataFrame | None, kind: Kind) -> list[Sentence]:
    if pairs is None or pairs.empty:
        return []
    rows = records(nearest_pairs(pairs, kind=kind.name, most=1))
    if not rows:
        return []
    row = rows[0]
    first = numbered(kind.name, int(row["layer_a"]), int(row["head_a"]))
    second = numbered(kind.name, int(row["layer_b"]), int(row["head_b"]))
    ends = span(number(row["ci_low"]), number(row["ci_high"]))
    least = f"{nats(number(row['divergence']))} nats apart" + (f" (95% interval {ends})" if ends else "")
    start = f"the two {kind.noun}s nearest to each other are "
    return [sentence(TOPIC, start, first, " and ", second, f", {least}.")]
