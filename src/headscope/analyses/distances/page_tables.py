"""The tables of figure 6: clusters, the most similar pairs of heads, and every head's coordinates."""

from __future__ import annotations

from collections import Counter
from math import isnan

import numpy as np
import pandas as pd

from headscope.analyses.distances.pair_table import matrix_of, nearest_pairs
from headscope.analyses.distances.stability import STABLE
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import joined, nats, span, two_decimals
from headscope.report_kit.tables.cells import number, records
from headscope.report_kit.tables.page_parts import numbered, page_table, scrolled
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import Words, capital, layer_list, plain
from headscope.views.markup import Html, el

MOST_PAIRS, MOST_HEADS = 10, 500
DASH = "–"


def clusters_table(clusters: pd.DataFrame, heads: pd.DataFrame, words: Words, kind: Kind) -> Html:
    """Return the clusters of one kind: size, stability, silhouette, medoid, roles and layers of its heads."""
    rows = []
    for row in records(clusters):
        members = heads[heads["cluster"] == row["cluster"]]
        stable, low, high = (number(row[name]) for name in ("stability", "ci_low", "ci_high"))
        silhouette, single = number(row["silhouette"]), int(row["size"]) == 1
        stability = f"{stable:.2f}" if not isnan(stable) else DASH if single else "not tested"
        rows.append(
            el(
                "tr",
                el("th", f"{int(row['cluster'])}", scope="row"),
                el("td", f"{int(row['size']):,}"),
                el("td", kind.head_link(row["medoid_layer"], row["medoid_head"])),
                el("td", nats(number(row["divergence"])) if int(row["size"]) > 1 else DASH),
                numbered(stability, joined(low, high, two_decimals)),
                el("td", DASH if isnan(silhouette) else f"{silhouette:.2f}"),
                el("td", capital(_roles(members, words)), class_="words"),
                el("td", _layers(members), class_="words"),
                class_="weak" if single or stable < STABLE else None,
            )
        )  # fmt: skip
    words_in = ("roles (heads)", "layers")
    titles = ("cluster", "heads", "middle head", "nats apart", "stability", "silhouette", *words_in)
    name = f"table-clusters-{kind.name}"
    table = page_table(titles, {"": rows}, name=name, class_="small", words=words_in)
    return scrolled(table, "Clusters of heads")


def pairs_table(pairs: pd.DataFrame, heads: pd.DataFrame, words: Words, kind: Kind) -> Html:
    """Return the most similar pairs of heads of one kind, with their roles."""
    roles = heads.dropna(subset=["role"]).set_index(["layer", "head"])["role"].to_dict()
    rows = []
    for row in records(nearest_pairs(pairs, kind=kind.name, most=MOST_PAIRS)):
        ends = [(int(row[f"layer_{side}"]), int(row[f"head_{side}"])) for side in ("a", "b")]
        named = [words.roles.get(roles.get(head, ""), DASH) for head in ends]
        role_names = named[0] if named[0] == named[1] else " / ".join(named)
        rows.append(
            el(
                "tr",
                el("th", kind.head_link(*ends[0]), " and ", kind.head_link(*ends[1]), scope="row"),
                el("td", nats(number(row["divergence"]))),
                el("td", span(number(row["ci_low"]), number(row["ci_high"])).replace(" to ", "–") or DASH),
                el("td", f"{int(row['n_rows']):,}"),
                el("td", capital(role_names), class_="words"),
            )
        )  # fmt: skip
    titles = ("heads", "nats apart", "95% interval", "n (rows)", "role")
    name = f"table-nearest-{kind.name}"
    table = page_table(titles, {"": rows}, name=name, class_="small", words=("role",))
    return scrolled(table, "Pairs of heads most alike")


def heads_table(pairs: pd.DataFrame, heads: pd.DataFrame, words: Words, kind: Kind) -> Html:
    """Return every head's coordinates on the map, its cluster, and its nearest head, folded."""
    ordered = heads.sort_values(["layer", "head"]).reset_index(drop=True)
    names = ordered[["layer", "head"]].to_numpy()
    apart = matrix_of(pairs, names, kind=kind.name)
    np.fill_diagonal(apart, np.nan)
    body, nearness = [], []
    for index, row in enumerate(records(ordered)[:MOST_HEADS]):
        near, least = DASH, DASH
        if np.isfinite(apart[index]).any():
            other = int(np.nanargmin(apart[index]))
            near, least = head_label(*names[other]), nats(float(apart[index, other]))
        nearness.append(-apart[index][np.isfinite(apart[index])].min(initial=np.inf))
        finds = row["finds"] if isinstance(row["finds"], str) else ""
        body.append(
            (
                *(head_label(row["layer"], row["head"]), words.roles.get(str(row["role"]), DASH)),
                *(plain(finds.replace(",", ", ")) or DASH, f"{int(row['cluster'])}", near, least),
                *(f"{row['x']:.3f}", f"{row['y']:.3f}"),
            )
        )
    more = len(ordered) - MOST_HEADS
    left = f"; the other {more:,} are in head_map.parquet" if more > 0 else ""
    return Table(
        summary=f"Table: every head’s place, cluster and nearest head{kind.in_brackets}{left}",
        header=("head", "role", "finds", "cluster", "nearest head", "nats apart", "x", "y"),
        rows=tuple(body),
        name=f"table-map-{kind.name}",
        words=(1, 2),
        matters=tuple(nearness),
        first="the nearest heads first",
    ).html()


def _layers(heads: pd.DataFrame) -> str:
    """Return the layers of heads without the word `layers`, for a column with that title: `1 to 4`."""
    return layer_list(sorted({int(layer) for layer in heads["layer"]})).partition(" ")[2]


def _roles(heads: pd.DataFrame, words: Words) -> str:
    counted = Counter(str(role) for role in heads["role"].dropna())
    return ", ".join(f"{words.roles.get(role, plain(role))} ({n})" for role, n in counted.most_common()) or DASH
