"""Distances between heads in the report: figure 6 in both colorings, clusters, the tree, and the nearest pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan

import pandas as pd

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS, FEWEST_GROUPS
from headscope.analyses.distances.clusters import NO_STRUCTURE, WEAK_STRUCTURE
from headscope.analyses.distances.figures.dendrogram import dendrogram
from headscope.analyses.distances.figures.head_map import COLORINGS, head_map, map_panel
from headscope.analyses.distances.findings import TOPIC
from headscope.analyses.distances.page_tables import clusters_table, heads_table, pairs_table
from headscope.analyses.distances.stability import STABLE
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import file_link, linked, paper_figure
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import number, records
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.sums.groups import GROUPS
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
    """Build the section; empty where distances were not measured."""
    run = about.run
    head_table, pairs = run.tables.get("head_map"), run.tables.get("head_distances")
    if head_table is None or pairs is None or run.tables.get("layer_effect") is None:
        return []
    blocks = (block for kind in _present(about, head_table) for block in _show_kind(about, head_table, pairs, kind))
    return section("distances", "Which heads are alike", WHY, blocks)


def _draw_map(about: Context, heads: pd.DataFrame, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the map of each kind."""
    for kind in _present(about, heads):
        stress = _stress(about.run, kind.name)
        yield kind.ending, partial(head_map, heads, kind=kind.name, stress=stress, names=about.words.roles)


def _draw_panels(about: Context, heads: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the map of each kind by each coloring, as the page shows them side by side."""
    for kind in _present(about, heads):
        for coloring in COLORINGS:
            panel = partial(map_panel, heads, kind=kind.name, coloring=coloring, names=about.words.roles)
            yield f"-{coloring}-{kind.name}", panel


def _draw_tree(about: Context, heads: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the tree of each kind."""
    for kind in _present(about, heads):
        yield kind.ending, partial(dendrogram, pairs, heads, kind=kind.name, names=about.words.roles)


def _present(about: Context, heads: pd.DataFrame) -> list[Kind]:
    """Return the kinds of attention whose distances were measured."""
    return [kind for kind in about.kinds if (heads["kind"] == kind.name).any()]


MAP = Figure(name="figure-6", tables=("head_map", "head_distances"), draw=_draw_map)
PANELS = Figure(name="map", tables=("head_map",), draw=_draw_panels)
TREE = Figure(name="head-tree", tables=("head_map", "head_distances"), draw=_draw_tree)


def _show_kind(about: Context, head_table: pd.DataFrame, pairs: pd.DataFrame, kind: Kind) -> Iterator[Html | None]:
    """Yield the blocks of the section for a kind: its map, its clusters and the most similar pairs of heads."""
    words = about.words
    heads = head_table[head_table["kind"] == kind.name]
    stress = _stress(about.run, kind.name)
    fit = "" if stress is None else f", with a stress of {stress:.2f} (0 is exact, 0.2 poor)"
    key = (
        "Each mark is a head; the nearer two are, the more alike their attention. Distances in the plane stand for "
        f"Jensen–Shannon divergences in nats{fit}; the directions mean nothing. By role, colors and shapes are roles, "
        "with an edge those of what the head finds; by layer, color and number are the layer. Click a mark to open "
        "its card."
    )
    figures = [
        placed(
            about,
            PANELS,
            f"Map of the {kind.name} heads by {coloring}; the table below holds the numbers.",
            ending=f"-{coloring}-{kind.name}",
        )
        for coloring in COLORINGS
    ]
    file = MAP.name + kind.ending
    link = file_link(about, file, "This map as a figure") if kind.ending else paper_figure(about, 6)
    yield from kind.heading()
    yield captioned(linked(about.findings_on(TOPIC, kind=kind)), caption(key), caption(GROUPED), link)
    yield el("div", figures, class_="panels maps")
    yield heads_table(pairs, heads, words, kind)
    yield from _clusters(about, heads, kind)
    if kind.size > 1:
        yield _subheading("Most alike", kind)
        yield pairs_table(pairs, heads, words, kind)


def _subheading(words: str, kind: Kind) -> Html:
    """Return a subheading within a kind of attention, which has its own heading if the model has several kinds."""
    return el("h4" if kind.prefix else "h3", words)


def _clusters(about: Context, heads: pd.DataFrame, kind: Kind) -> Iterator[Html | None]:
    table = about.run.tables.get("head_clusters")
    if table is None or not (table["kind"] == kind.name).any():
        return
    key = (
        "Average linkage on the root of the divergence, cut where the mean silhouette is best; a mean silhouette up to "
        f"{NO_STRUCTURE:g} shows no substantial structure, up to {WEAK_STRUCTURE:g} a weak one (Kaufman and Rousseeuw "
        "1990). Stability: the mean, over resampled documents, of the Jaccard index with the cluster most like it; "
        f"below {STABLE:g} a cluster is not to be trusted: it stands here dimmed, and no sentence names it. A single "
        f"head is no cluster, and has no stability. A test needs at least {FEWEST_DOCUMENTS} documents."
    )
    yield _subheading("Clusters", kind)
    clusters = clusters_table(table[table["kind"] == kind.name], heads, about.words, kind)
    tree = file_link(about, TREE.name + kind.ending, "The tree of heads as a figure")
    yield captioned(clusters, caption(key), tree)
    if 1 < kind.size <= MOST_IN_TREE:
        label = f"Tree of the {kind.name} heads by average linkage; the table above lists the clusters."
        pictures = placed(about, TREE, label, ending=kind.ending, class_="tree")
        yield el("details", el("summary", "Figure: the tree of heads"), pictures)


def _stress(run: Study, kind: str) -> float | None:
    """Return the stress of a kind's map (0 is exact); None where it was not measured."""
    rows = [row for row in records(run.tables.get("layer_effect")) if row["kind"] == kind]
    stress = number(rows[0]["stress"]) if rows else float("nan")
    return None if isnan(stress) else stress
