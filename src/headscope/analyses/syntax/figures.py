"""Accuracy by distance between dependent and head word as figures, and the files of all figures of dependency heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from headscope.analyses.syntax.relation_layers import drawn_cells, relation_layers
from headscope.analyses.syntax.relations import curve_relations
from headscope.attention.head_id import head_label
from headscope.present.drawing import inline
from headscope.present.figures.axes import distance_axis, interval_bars, whole_axis
from headscope.present.figures.style import (
    PAGE_INCHES,
    SOFT,
    across,
    figure_of,
    house_style,
    label,
    new_figure,
    paper_width,
    role_color,
)
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.words import short
from headscope.statistics.tables.frames import DISTANCES
from headscope.views.markup import Html, el

COLUMNS = 4
LEAST_INCHES, HEIGHT = 1.6, 2.1
"""Smallest width of a panel on paper, and height of every panel, in inches."""


@house_style()
def distance_panel(rows: pd.DataFrame, *, ax: Axes | None = None) -> matplotlib.figure.Figure:
    """Draw one relation: its head's accuracy by distance with intervals, and the best offset's accuracy as bars.

    Args:
        rows: the rows of one relation in `tables/syntax_by_distance.parquet`, with a case at some distance.
        ax: axes to draw on; created when not given.
    """
    measured = rows[(rows["n_arcs"] > 0) & rows["accuracy"].notna()]
    ax = ax or new_figure(2.7, HEIGHT).subplots()
    first = measured.iloc[0]
    head = head_label(first["layer"], first["head"])
    ax.set_title(f"{label(str(first['relation']), 22)} · head {head}")
    ordered = measured.assign(order=measured["distance"].astype(str).map(DISTANCES.index)).sort_values("order")
    x = ordered["order"].to_numpy(float)
    color, offset_color = role_color("syntax"), role_color("next")
    baseline = ordered["baseline_accuracy"].to_numpy(float)
    has_baseline = baseline > 0
    x_of, tops = x[has_baseline], baseline[has_baseline]
    ax.vlines(x_of, 0, tops, color=offset_color, linewidth=7, alpha=0.3, gid="offset")
    ax.plot(x_of, tops, color=offset_color, marker="_", markersize=9,
            markeredgewidth=1.6, linestyle="", clip_on=False)  # fmt: skip
    value = ordered["accuracy"].to_numpy(float)
    low, high = ordered["ci_low"].to_numpy(float), ordered["ci_high"].to_numpy(float)
    interval_bars(ax, x, low, high, color=color, width=3.2, alpha=0.35)
    ax.plot(x, value, color=color, linewidth=1.5, marker="o", markersize=5, clip_on=False, gid="head")
    distance_axis(ax)
    whole_axis(ax, steps=2, labelsize=8.0)
    if has_baseline.any() and pd.notna(first["baseline_offset"]):
        peak = int(np.nanargmax(baseline))
        ax.annotate(
            f"offset {int(first['baseline_offset']):+d}".replace("-", "−"), (x[peak], 0), xytext=(6, 2),
            textcoords="offset points", ha="left", va="bottom", fontsize=8, color=offset_color,
        )  # fmt: skip
    return figure_of(ax)


def curve_pages(names: Sequence[str]) -> list[Sequence[str]]:
    """Split relations into figures no higher than a page of paper; a single one if the width is free."""
    if paper_width() is None:
        return [names]
    size = across(COLUMNS, each=LEAST_INCHES) * int((PAGE_INCHES - 0.3) / HEIGHT)
    return [names[start : start + size] for start in range(0, len(names), size)]


@house_style()
def distance_curves(by_distance: pd.DataFrame, *, relations: Sequence[str]) -> matplotlib.figure.Figure:
    """Draw small multiples, one panel per relation, four in a row.

    Args:
        by_distance: `tables/syntax_by_distance.parquet`.
        relations: relations of the table to draw, in order.
    """
    columns = across(min(COLUMNS, len(relations)), each=LEAST_INCHES)
    lines = -(-len(relations) // columns)
    figure = new_figure(2.7 * columns, HEIGHT * lines + 0.3)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    for ax in grid[len(relations) :]:
        ax.set_axis_off()
    for name, ax in zip(relations, grid):
        distance_panel(by_distance[by_distance["relation"] == name], ax=ax)
    figure.supxlabel("words between dependent and head word, 1 is next to it", fontsize=9, color=SOFT)
    figure.supylabel("accuracy", fontsize=9, color=SOFT)
    return figure


def _by_layer(about: Context, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        if cells := drawn_cells(about.run, kind.name):
            yield kind.ending, partial(relation_layers, cells)


def _by_distance(about: Context, near: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    names = curve_relations(about.run)
    for page in curve_pages(names) if names else ():
        yield "", partial(distance_curves, near, relations=page)


BY_LAYER = Figure(name="relations-by-layer", tables=("syntax",), draw=_by_layer)
BY_DISTANCE = Figure(name="accuracy-by-distance", tables=("syntax_by_distance",), draw=_by_distance)


CURVES = 8
"""Number of relations whose curves are in the page; the table below them has all relations."""


def distance_panels(about: Context) -> Html | None:
    """Draw the curves of the first relations of table 1; None where no distance was measured."""
    table = about.run.tables.get("syntax_by_distance")
    names = curve_relations(about.run)[:CURVES]
    if table is None or not names:
        return None
    figures = [
        inline(
            distance_panel(table[table["relation"] == name]),
            name=f"distance-{index}",
            label=f"Accuracy of the best head for {short(name)} by distance, beside its best fixed offset.",
        )
        for index, name in enumerate(names)
    ]
    return el("div", figures, class_="panels curves")
