"""Figures of behaviors: a head grid for each, with darker cells for heads that show more of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from headscope.analyses.behaviors.catalog import BEHAVIORS, SHARES, Behavior
from headscope.analyses.behaviors.chosen import chosen_heads, heads_of
from headscope.present.drawing import placed
from headscope.present.figures.axes import grid_axes
from headscope.present.figures.style import (
    INK,
    LINE,
    PAGE_INCHES,
    SOFT,
    across,
    house_style,
    label,
    new_figure,
    role_color,
)
from headscope.present.kinds import Kind
from headscope.present.numbers import percent
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.statistics.tables.frames import NORM, is_false, is_true
from headscope.views.markup import Html, el

_CELL = 0.14  # inches
_SIDE = 0.44  # of a cell, from its middle
_LEAST, _MOST = 1.7, 4.0  # inches across a panel
_ACROSS = 6.8  # inches of the page's text column
_TITLE = 0.75  # inches of a panel that are not cells
_DOTTED = (0, (1.0, 1.0))


def behavior_grids(heads: pd.DataFrame, kind: Kind, *, prefix: str) -> list[Drawing]:
    """Return functions that draw head grids, one for each page: layers as rows, heads as columns.

    There is a grid for each behavior that is a share of attention and can occur. A cell's strength is the share of the
    head's attention, from 0 to 1, on one scale for all grids. Heads that show the behavior have an edge, dotted where
    they do not show it by norm-weighted attention. The share of uniform attention is given above a grid (its range over
    layers). Cells link to their heads' cards. Grids that do not fit on a page go to the next figure.

    Args:
        heads: table of all heads from `compute.heads_table`, with the column `model`.
        kind: kind of attention.
        prefix: first part of the measures' names in the page, which are those of `study.heads`: `behaviors`.
    """
    keys = ["layer", "head", "behavior"]
    norms = heads_of(heads, kind.name, NORM)[[*keys, "shows"]].rename(columns={"shows": "shows_by_norm"})
    rows_of_kind = heads_of(heads, kind.name).merge(norms, on=keys, how="left")
    present = [BEHAVIORS[name] for name in dict.fromkeys(rows_of_kind["behavior"]) if name in SHARES]
    if not present:
        return []
    width = kind.heads_per_layer
    inches = min(max(_CELL * width + 0.5, _LEAST), _MOST)
    columns = across(min(len(present), max(int(_ACROSS / inches), 1)), each=_LEAST)
    high = inches * kind.layers / width + _TITLE
    per_page = max(int(PAGE_INCHES / high), 1) * columns

    def draw(page: Sequence[Behavior]) -> matplotlib.figure.Figure:
        rows = -(-len(page) // columns)
        with house_style():
            figure = new_figure(inches * columns, min(high * rows, PAGE_INCHES))
            panels = figure.subplots(rows, columns, squeeze=False).ravel()
            for behavior, ax in zip(page, panels):
                cells = rows_of_kind[rows_of_kind["behavior"] == behavior.name]
                _panel(ax, cells, kind, behavior, f"{prefix}.{behavior.name}")
            for ax in panels[len(page) :]:
                ax.set_axis_off()
        return figure

    return [partial(draw, present[first : first + per_page]) for first in range(0, len(present), per_page)]


def grid_figure(experiment: str = "") -> Figure:
    """Return the figure of the grids of each kind of attention, in text or in an experiment."""

    def draw(about: Context, heads: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
        rows = heads[heads["experiment"] == experiment] if experiment else heads
        for kind in about.kinds:
            for drawing in behavior_grids(
                rows, kind, prefix=f"experiments.{experiment}" if experiment else "behaviors"
            ):
                yield kind.ending, drawing

    name, table = (f"behaviors-{experiment}", "experiments") if experiment else ("behaviors", "behaviors")
    return Figure(name=name, tables=(table,), draw=draw)


def grids(about: Context, kind: Kind, experiment: str = "") -> Html | None:
    """Return the grids of a kind for the page; None if no behavior can occur."""
    what = f"How much of its attention each {kind.name} head puts where a behavior would"
    if all(head.behavior.counts_tokens for head in chosen_heads(about.run, kind.name, experiment)):
        what = f"At how many tokens the strongest key of each {kind.name} head is the right one"
    layout = "a grid for each behavior, layers as rows and heads as columns. The table below holds the numbers."
    pictures = placed(about, grid_figure(experiment), f"{what}: {layout}", ending=kind.ending)
    return el("div", pictures, class_="panels") if pictures else None


def _panel(ax: Axes, rows: pd.DataFrame, kind: Kind, behavior: Behavior, name: str) -> None:
    rows = rows[rows["value"].notna()]
    x, y = rows["head"].to_numpy(int), rows["layer"].to_numpy(int)
    corners = [(-_SIDE, -_SIDE), (_SIDE, -_SIDE), (_SIDE, _SIDE), (-_SIDE, _SIDE)]
    cells = [[(a + across_, b + down) for across_, down in corners] for a, b in zip(x, y)]
    color, shows = role_color(behavior.role), is_true(rows["shows"])
    # One unclipped path outlines all cells: with a thousand heads that halves the size of the page.
    outline = Path.make_compound_path(*(Path([*cell, cell[0]], closed=True) for cell in cells))
    ax.add_patch(PathPatch(outline, facecolor="none", edgecolor=LINE, linewidth=0.5, clip_on=False))
    cells_drawn = PolyCollection(
        cells,
        facecolors=[to_rgba(color, value) for value in rows["value"].clip(0.0, 1.0)],
        edgecolors=[INK if is_shown else "none" for is_shown in shows],
        linewidths=[1.1 if is_shown else 0.0 for is_shown in shows],
        linestyles=[_DOTTED if dotted else "solid" for dotted in shows & is_false(rows["shows_by_norm"])],
        clip_on=False,
        zorder=2,
    )
    cells_drawn.set_urls([f"#{kind.name}-{b}-{a}" for a, b in zip(x, y)])
    cells_drawn.set_gid(f"heads--{kind.name}--{name}--{behavior.role}")
    ax.add_collection(cells_drawn, autolim=False)
    ax.set_title(label(behavior.name, 12), fontsize=9, pad=13)
    low, high = float(rows["uniform"].min()), float(rows["uniform"].max())
    uniform = percent(low) if percent(low) == percent(high) else f"{percent(low)}–{percent(high)}"
    ax.text(0, 1, f"uniform {uniform}", transform=ax.transAxes, color=SOFT, fontsize=8, ha="left", va="bottom")
    grid_axes(ax, kind.layers, kind.heads_per_layer, most=6, labelsize=8, pad=2)
