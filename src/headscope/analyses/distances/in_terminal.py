"""Distances between heads in the terminal: the layer effect, clusters, the nearest pairs."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS
from headscope.analyses.distances.clusters import structure
from headscope.analyses.distances.findings import are_alike, trust
from headscope.analyses.distances.pair_table import nearest_pairs
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label
from headscope.counted import count
from headscope.report_kit.numbers import HYPHEN, formatted, joined, nats_to_four
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE

MOST_HEADS, MOST_PAIRS = 14, 8


def render_results(distances: StageResult, mapped: StageResult) -> Iterator[Grid | str]:
    """Yield for each kind of attention the layer effect, the clusters with their heads, and the nearest pairs."""
    pairs, head_table = distances.tables["head_distances"], mapped.tables["head_map"]
    effects, clusters = mapped.tables["layer_effect"], mapped.tables["head_clusters"]
    for index, effect in enumerate(effects.to_dict("records")):
        kind = effect["kind"]
        if len(effects) > 1:
            if index:
                yield ""
            yield f"{kind} attention"
        yield effect_line(effect)
        heads = head_table[head_table["kind"] == kind]
        clusters_of_kind = clusters[clusters["kind"] == kind]
        yield _clusters(clusters_of_kind, heads)
        yield cut_line(effect)
        if are_alike(effect):
            yield f"heads are less than {LEAST_DIVERGENCE:g} nats apart on average: clusters say nothing"
        elif len(clusters_of_kind) > 1:
            yield trust(clusters_of_kind)
        nearest = nearest_pairs(pairs, kind=kind, most=MOST_PAIRS)
        if len(nearest):
            yield _pairs(nearest)
    yield from _reading(distances)


def effect_line(effect: dict[Any, Any]) -> str:
    """Return a line on the divergences within and between layers."""
    if isnan(effect["effect"]):
        return f"within and between layers: not comparable, {effect['reason']}"
    within, between, less = (nats_to_four(effect[name]) for name in ("within", "between", "effect"))
    ends = joined(effect["ci_low"], effect["ci_high"], nats_to_four, between=" to ")
    return (
        f"divergence within layers {within}, between {between}: between less within "
        f"{less}{f' ({ends})' if ends else ''} nats, p = {effect['p']:.4f}"
    )


def cut_line(effect: dict[Any, Any]) -> str:
    """Return a line on the linkage, the cut and its silhouette, its stability, and the stress of the map."""
    rand = effect["adjusted_rand"]
    again = "" if isnan(rand) else f", adjusted Rand {rand:.2f} on resampled documents"
    silhouette = effect["silhouette"]
    weak = structure(silhouette)
    best = f", cut where the silhouette is best ({silhouette:.2f}{weak and f': {weak}'})"
    cut = "" if isnan(silhouette) else best
    return f"average linkage on the root of the divergence{cut}{again}; stress of the map {effect['stress']:.3f}"


def _clusters(clusters: pd.DataFrame, heads: pd.DataFrame) -> Grid:
    lines = []
    for row in clusters.to_dict("records"):
        members = heads[heads["cluster"] == row["cluster"]].sort_values(["layer", "head"])
        names = [*map(head_label, members["layer"], members["head"])]
        more = f" and {len(names) - MOST_HEADS} more" if len(names) > MOST_HEADS else ""
        roles = members["role"].dropna().value_counts()
        role_counts = ", ".join(f"{role} {number}" for role, number in roles.items()) or "-"
        stable, silhouette = (formatted(row[name], ".2f", missing=HYPHEN) for name in ("stability", "silhouette"))
        stable = "not tested" if stable == "-" and row["size"] > 1 else stable
        which = " ".join(names[:MOST_HEADS]) + more
        lines.append([str(row["cluster"]), str(row["size"]), stable, silhouette, role_counts, which])
    titles = ("cluster", "heads", "stability", "silhouette", "roles", "which")
    return Grid(titles, lines, words=("roles", "which"))


def _pairs(nearest: pd.DataFrame) -> Grid:
    lines = [
        [
            " and ".join(head_label(row[f"layer_{side}"], row[f"head_{side}"]) for side in ("a", "b")),
            nats_to_four(row["divergence"]),
            joined(row["ci_low"], row["ci_high"], nats_to_four, between=" to ", missing=HYPHEN),
        ]
        for row in nearest.to_dict("records")
    ]
    return Grid(("nearest heads", "nats apart", "95% interval"), lines)


def _reading(distances: StageResult) -> Iterator[Grid | str]:
    for kind, read in distances.facts["distances"].items():
        sample = "" if read["rows_read"] == read["rows"] else f", {read['rows_read']:,} of them read"
        yield (
            f"{kind}: {count(read['rows'], 'row')} of attention{sample} in {count(read['segments'], 'input')}; "
            "95% intervals over "
            f"documents, in {DIVERGENCE_GROUPS} groups at most"
        )
