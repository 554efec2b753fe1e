"""Distances between heads in the report: figure 6 in both colorings, clusters, the tree, and the nearest pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan

import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS, FEWEST_GROUPS
from headscope.analyses.distances.clusters import NO_STRUCTURE, WEAK_STRUCTURE
from headscope.analyses.distances.figures.dendrogram import dendrogram
from headscope.analyses.distances.figures.head_map import COLORINGS, head_map, map_panel
from headscope.analyses.distances.findings import TOPIC
from headscope.analyses.distances.page_tables import clusters_table, heads_table, pairs_table
from headscope.analyses.distances.stability import STABLE
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import figure_file, figure_links, file_links, linked
from headscope.report_kit.pictures.drawing import inline, inline_file
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import number, records
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.groups import GROUPS
from headscope.study.study import Study
from headscope.views.markup import Html, el

GROUPED = (
    f"Intervals and stability resample documents: one by one up to {DIVERGENCE_GROUPS}, more in {DIVERGENCE_GROUPS} "
    f"groups by a hash of their id (elsewhere {GROUPS}); for more than 512 heads in fewer groups, {FEWEST_GROUPS} from "
    "1,024 heads on."
)
WHY = "How far apart are two heads’ attention, token by token, and do heads of a layer or of a role stand together?"
MOST_IN_TREE = 200
"""A larger tree would dominate the page; its file still has it."""


def distances_section(about: Context) -> list[Section]:
    """Build the section; none where distances were not measured."""
    run = about.run
    head_table, pairs = run.tables.get("head_map"), run.tables.get("head_distances")
    if head_table is None or pairs is None or run.tables.get("layer_effect") is None:
        return []
    present = [kind for kind in about.kinds if (head_table["kind"] == kind.name).any()]
    blocks: list[Html | None] = []
    for index, kind in enumerate(present):
        blocks += [*kind.heading(), *linked(about.findings_on(TOPIC, kind=kind))]
        blocks += _kind(about, head_table, pairs, kind, first=index == 0)
    return section("distances", "Which heads are alike", WHY, blocks)


def map_name(kind: str, *, first: bool) -> str:
    """Return the name of figure 6's file."""
    return figure_file("figure-6", kind, first=first)


def tree_name(kind: str, *, first: bool) -> str:
    """Return the name of the tree's file."""
    return figure_file("head-tree", kind, first=first)


def distance_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield figure 6 and the tree of heads of each kind, each with the name of its file."""
    run, words = about.run, about.words
    table, pairs = run.tables.get("head_map"), run.tables.get("head_distances")
    if table is None or pairs is None:
        return
    present = [kind.name for kind in about.kinds if (table["kind"] == kind.name).any()]
    for index, kind in enumerate(present):
        figure = head_map(table, kind=kind, stress=_stress(run, kind), names=words.roles)
        yield map_name(kind, first=index == 0), figure
        tree = dendrogram(pairs, table, kind=kind, names=words.roles)
        yield tree_name(kind, first=index == 0), tree


def _kind(
    about: Context, head_table: pd.DataFrame, pairs: pd.DataFrame, kind: Kind, *, first: bool
) -> list[Html]:
    words = about.words
    heads = head_table[head_table["kind"] == kind.name]
    figures = []
    for coloring in COLORINGS:
        figure = map_panel(heads, kind=kind.name, coloring=coloring, names=words.roles)
        label = f"Map of the {kind.name} heads by {coloring}; the table below holds the numbers."
        picture = inline(figure, name=f"map-{coloring}-{kind.name}", label=label)
        figures.append(el("figure", picture))
    stress = _stress(about.run, kind.name)
    fit = "" if stress is None else f", with a stress of {stress:.2f} (0 is exact, 0.2 poor)"
    out = [
        el("div", figures, class_="panels maps"),
        el("p", "Each mark is a head; the nearer two are, the more alike their attention. Distances in the plane stand "
           f"for Jensen–Shannon divergences in nats{fit}; the directions mean nothing. Click a mark to open its card. "
           f"{GROUPED}", class_="caption"),
    ]  # fmt: skip
    if about.links:
        out.append(
            figure_links("figure-6")
            if first
            else file_links(map_name(kind.name, first=False), "This map as a figure")
        )
    out.append(heads_table(pairs, heads, words, kind))
    out += _clusters(about, pairs, heads, kind, first=first)
    if kind.size > 1:
        out += [
            el("h4", "Most alike"),
            pairs_table(pairs, heads, words, kind),
        ]
    return out


def _clusters(
    about: Context, pairs: pd.DataFrame, heads: pd.DataFrame, kind: Kind, *, first: bool
) -> list[Html]:
    words, table = about.words, about.run.tables.get("head_clusters")
    if table is None or not (table["kind"] == kind.name).any():
        return []
    clusters_of_kind = table[table["kind"] == kind.name]
    out = [
        el("h4", "Clusters"),
        clusters_table(clusters_of_kind, heads, words, kind),
        el("p", "Average linkage on the root of the divergence, cut where the mean silhouette is best; a mean "
           f"silhouette up to {NO_STRUCTURE:g} shows no substantial structure, up to {WEAK_STRUCTURE:g} a weak "
           "one (Kaufman and Rousseeuw 1990). Stability: the "
           "mean, over resampled documents, of the Jaccard index with the cluster most like it; below "
           f"{STABLE:g} a cluster is not to be trusted: it stands here dimmed, and no sentence names it. A single "
           "head is no cluster, and has no stability. A test "
           "needs at "
           f"least {FEWEST_DOCUMENTS} documents.", class_="caption"),
    ]  # fmt: skip
    if 1 < kind.size <= MOST_IN_TREE:
        draw = partial(dendrogram, pairs, heads, kind=kind.name, names=words.roles)
        label = f"Tree of the {kind.name} heads by average linkage; the table above lists the clusters."
        summary = "Figure: the tree of heads"
        file = tree_name(kind.name, first=first)
        picture = inline_file(about.pictures, file, draw, name=f"tree-{kind.name}", label=label)
        out.append(el("details", el("summary", summary), el("figure", picture, class_="tree")))
    if about.links:
        out.append(file_links(tree_name(kind.name, first=first), "The tree of heads as a figure"))
    return out


def _stress(run: Study, kind: str) -> float | None:
    rows = [row for row in records(run.tables.get("layer_effect")) if row["kind"] == kind]
    stress = number(rows[0]["stress"]) if rows else float("nan")
    return None if isnan(stress) else stress
