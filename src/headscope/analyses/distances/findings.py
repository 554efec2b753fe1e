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
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, numbered, sentence
from headscope.report_kit.numbers import nats, p_words, span, two_decimals
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
            *_layers(row, kind),
            *_tree(row, clusters, kind),
            *_by_role(heads, clusters, words, kind),
            *_nearest(pairs, kind),
        ]
        findings += kind.findings(findings_of_kind)
    return findings


def _layers(row: dict[str, Any], kind: Kind) -> list[Sentence]:
    """Say whether heads of a layer are more alike than others, and how far apart heads are."""
    whose = f"{kind.noun}s"
    within, between, effect, p = (number(row[name]) for name in ("within", "between", "effect", "p"))
    if isnan(effect):
        return [
            sentence(TOPIC, f"whether {whose} of a layer are alike cannot be said: {plain(row['reason'])}.")
        ]
    low, high = number(row["ci_low"]), number(row["ci_high"])
    if p < SIGNIFICANT and effect > 0 and not low <= 0:
        ends = "" if isnan(low) else f" (95% interval {span(low, high)})"
        claim = f"are more alike than heads of different layers, by {nats(effect)} nats{ends}"
    else:
        ends = "" if isnan(low) else f" (95% interval of the difference {span(low, high)})"
        claim = f"are not shown to be more alike than heads of different layers{ends}"
    return [
        sentence(TOPIC, f"{whose} of a layer {claim}."),
        sentence(
            TOPIC,
            f"on average two {whose} of a layer are {nats(within)} nats apart, two of different layers "
            f"{nats(between)}.",
            goes_on=True,
        ),
        sentence(TOPIC, f"For the test the layers of {whose} were permuted: {p_words(p)}.", goes_on=True),
    ]


def _tree(row: dict[str, Any], clusters: pd.DataFrame, kind: Kind) -> list[Sentence]:
    if len(clusters) < 2:
        return []
    silhouette = number(row["silhouette"])
    weak = structure(silhouette)
    verdict = f", which shows {weak}" if weak else ""
    out = [
        sentence(TOPIC, f"{trust(clusters, of=f' of {kind.noun}s')}."),
        *_untrusted(clusters, kind),
        sentence(
            TOPIC,
            f"The tree of {kind.noun}s is cut where the mean silhouette is best, at "
            f"{two_decimals(silhouette)}{verdict}.",
            goes_on=True,
        ),
    ]
    rand = number(row["adjusted_rand"])
    if not isnan(rand):
        low, high = number(row["adjusted_rand_low"]), number(row["adjusted_rand_high"])
        agreement = (
            f"Clusters of {kind.noun}s agree on resampled documents: adjusted Rand index {rand:.2f} (95% of resamples "
            f"{low:.2f} to {high:.2f})."
        )
        out.append(sentence(TOPIC, agreement, goes_on=True))
    return out


def _untrusted(clusters: pd.DataFrame, kind: Kind) -> list[Sentence]:
    """Name clusters that are not stable, where others are; a single head is no cluster."""
    stable = trusted(clusters)
    tested = clusters[(clusters["size"] > 1) & clusters["stability"].notna()]
    others = [int(label) for label in tested["cluster"] if int(label) not in stable]
    if not stable or not others:
        return []
    named = [str(label) for label in others[:MOST_LISTED]]
    more = len(others) - len(named)
    labels = join([*named, f"{more:,} more"] if more else named)
    what = "cluster" if len(others) == 1 else "clusters"
    of = f" of {kind.noun}s" if kind.prefix else ""
    return [sentence(TOPIC, f"Not to be trusted{of}: {what} {labels}.", goes_on=True)]


def trust(clusters: pd.DataFrame, *, of: str = "") -> str:
    """Say how many clusters of a kind are stable over documents, or that this was not tested.

    Args:
        clusters: of one kind.
        of: what they are clusters of, ` of heads`.
    """
    stable, number = trusted(clusters), f"{count(len(clusters), 'cluster')}{of}"
    if clusters["stability"].isna().all():
        return (
            f"whether other documents would give the {number} again was not tested, which needs at least "
            f"{FEWEST_DOCUMENTS} documents"
        )
    why = f"a stability of {STABLE:g} or more"
    if not stable:
        return f"none of {number} is to be trusted: none has {why}"
    if len(stable) == len(clusters):
        return f"all {number} have {why}"
    have = "has" if len(stable) == 1 else "have"
    return f"{len(stable):,} of {number} {have} {why}; the others are not to be trusted"


def trusted(clusters: pd.DataFrame) -> set[int]:
    """Return the clusters that a sentence may name: those with several heads that are stable over documents."""
    return {
        int(row["cluster"])
        for row in records(clusters)
        if int(row["size"]) > 1 and number(row["stability"]) >= STABLE
    }


def _by_role(heads: pd.DataFrame, clusters: pd.DataFrame, words: Words, kind: Kind) -> list[Sentence]:
    """Return a sentence on each cluster whose heads mostly share a role, which is the paper's question.

    Stable clusters are named, three at most. The others are counted, with the reason why they are not named.
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
        share = f"{most:,} of {len(members):,} {kind.noun}s"
        named.append(sentence(TOPIC, f"cluster {cluster} is mostly of one role: {name}, in {share}."))
    out = named[:MOST_LISTED]
    of = f" of {kind.noun}s" if kind.prefix else ""
    if more := len(named) - len(out):
        are = "is" if more == 1 else "are"
        out.append(
            sentence(TOPIC, f"{count(more, 'more cluster')}{of} {are} mostly of one role.", goes_on=True)
        )
    if unnamed:
        why = f"{'its' if unnamed == 1 else 'their'} stability "
        if clusters["stability"].isna().all():
            why += f"was not tested, which needs at least {FEWEST_DOCUMENTS} documents"
        else:
            why += f"lies below {STABLE:g}"
        are = "is" if unnamed == 1 else "are"
        other = "more cluster" if named else "cluster"
        text = f"{count(unnamed, other)}{of} {are} mostly of one role, and not named: {why}."
        out.append(sentence(TOPIC, text, goes_on=bool(named)))
    return out


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
