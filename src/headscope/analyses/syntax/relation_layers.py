"""Relations by layers as a heat map, figure and table: the accuracy of each layer's best head, and its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Rectangle

from headscope.analyses.syntax.relations import best_offsets, relations_of
from headscope.attention.head_id import head_anchor
from headscope.palette import palette
from headscope.present.figures.axes import hide_spines
from headscope.present.figures.style import INK, SOFT, figure_of, house_style, label, narrow, new_figure
from headscope.present.kinds import Kind
from headscope.present.numbers import bracketed_interval
from headscope.present.page_tables import scrolled
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import DIRECTIONS, short
from headscope.views.markup import Html, el

STEPS = 9
LEAST_WIDTH = 4.8
"""Width in inches that the key needs."""
TOP = 0.4
"""The margin over the best offset, as a fraction, from which the shade is strongest."""


def best_by_layer(syntax: pd.DataFrame, baselines: Mapping[str, float], *, kind: str) -> dict[str, list[Any]]:
    """Select each layer's best head and direction for every relation from `tables/syntax.parquet`.

    Args:
        syntax: accuracies of all heads; only the trained model's rows of `kind` are used.
        baselines: relation to the accuracy of its best fixed offset, a fraction; NaN where it has none.
        kind: `encoder` or `decoder`.

    Returns:
        Relation to the rows of its layers in order, named tuples with the columns of the table and `above`, the
        accuracy minus the offset's. Ties go to the lower head.
    """
    rows = syntax[(syntax["model"] == "trained") & (syntax["kind"] == kind) & syntax["accuracy"].notna()]
    order = rows.sort_values(["head", "direction"], kind="stable")
    best = order.loc[order.groupby(["relation", "layer"], sort=False)["accuracy"].idxmax()]
    offsets = best["relation"].astype(str).map(dict(baselines)).astype("float64")
    best = best.assign(above=best["accuracy"] - offsets).sort_values("layer")
    return {str(name): list(rows.itertuples()) for name, rows in best.groupby("relation", sort=False)}


MOST_CELLS = 1500
"""A larger table would be the heaviest part of the page, so only the most frequent relations are kept."""


def drawn_cells(run: Study, kind: str) -> dict[str, list[Any]]:
    """Return the relations that are drawn, in the order of table 1, with the rows of `best_by_layer`.

    If there are too many, only the most frequent relations are drawn.
    """
    syntax = run.tables.get("syntax")
    cells = {} if syntax is None else best_by_layer(syntax, best_offsets(run.tables.get("syntax_baselines")), kind=kind)
    present = [relation for relation in relations_of(run) if relation.name in cells and not relation.overall]
    most = max(MOST_CELLS // max((len(cells[relation.name]) for relation in present), default=1), 1)
    frequent = {relation.name for relation in sorted(present, key=lambda relation: -relation.n)[:most]}
    return {relation.name: cells[relation.name] for relation in present if relation.name in frequent}


def step_of(above: float) -> int:
    """Return the shade of a margin over the offset: 0 at or below it, 1 to 9 up to 40 points and more."""
    if not above > 0:
        return 0
    return min(1 + int(STEPS * above / TOP), STEPS)


def shade(step: int) -> str:
    """Return the color of a shade on white, `#rrggbb`: viridis from yellow (1) to violet (9)."""
    return str(to_hex(mpl.colormaps[palette().layers](1 - (step - 0.5) / STEPS)))


def on_shade(step: int) -> str:
    """Return the color of text on a shade, dark on the light half: a contrast of 4.5 at least."""
    return INK if step < 5 else "#000000" if step == 5 else "#ffffff"


@house_style()
def relation_layers(cells_by_relation: Mapping[str, Sequence[Any]]) -> Figure:
    """Draw the heat map of one kind: accuracy in percent in each cell, shaded by its margin over the best offset.

    Args:
        cells_by_relation: the relations to draw, with the rows of `best_by_layer`.
    """
    names = list(cells_by_relation)
    layers = max(cell.layer for cells in cells_by_relation.values() for cell in cells)
    width = min(max(1.9 + 0.48 * layers, LEAST_WIDTH), 30.0)
    ax = new_figure(width, 1.15 + 0.27 * len(names)).subplots()
    for y, cells in enumerate(cells_by_relation.values()):
        for cell in cells:
            step = step_of(cell.above)
            if step:
                ax.add_patch(Rectangle((cell.layer - 0.48, y - 0.46), 0.96, 0.92, color=shade(step), linewidth=0))
            ax.text(
                cell.layer, y, f"{100 * cell.accuracy:.0f}", ha="center", va="center", fontsize=9,
                color=on_shade(step) if step else SOFT, gid="cell",
            )  # fmt: skip
    ax.set_xlim(0.4, layers + 0.6)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks(np.arange(1, layers + 1))
    ax.set_yticks(np.arange(len(names)), [label(name, 22) for name in names])
    ax.tick_params(axis="y", labelcolor=INK)
    ax.set_xlabel("layer")
    hide_spines(ax)
    _key(ax)
    return figure_of(ax)


def _key(ax: Axes) -> None:
    """Draw the key of the shades above the map: one swatch a step, from just above the offset to 40 points or more."""
    swatches = tuple(Rectangle((0, 0), 1, 1, facecolor=shade(step), linewidth=0) for step in range(1, STEPS + 1))
    between = "\n" if narrow() else " "
    ax.legend(
        handles=[swatches], labels=[f"points above the best{between}fixed offset: 0 to {100 * TOP:.0f} and more"],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.0)}, handlelength=7.0, loc="lower right",
        bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3, frameon=False, fontsize=8.5, labelcolor=SOFT,
    )  # fmt: skip


def heat(about: Context, kind: Kind) -> Html | None:
    """Return the heat map of one kind of attention, each cell linked to the card of its head."""
    cells_by_relation = drawn_cells(about.run, kind.name)
    if not cells_by_relation:
        return None
    layers = range(1, max(cell.layer for cells in cells_by_relation.values() for cell in cells) + 1)
    rows = []
    for name, cells in cells_by_relation.items():
        cell_of = {cell.layer: _cell(cell, kind) for cell in cells}
        rows.append(el("tr", el("th", short(name), scope="row"), [cell_of.get(layer, el("td")) for layer in layers]))
    titles = [el("th", title, scope="col") for title in ("relation", *map(str, layers))]
    table = el("table", el("thead", el("tr", titles)), el("tbody", rows), id=f"table-heat-{kind.name}", class_="heat")
    return scrolled(table, "Accuracy of the best head of each layer, by relation")


def _cell(cell: Any, kind: Kind) -> Html:
    name = kind.head_label(cell.layer, cell.head)
    way = DIRECTIONS.get(cell.direction, cell.direction)
    ends = bracketed_interval(cell.ci_low, cell.ci_high, form=".1f", scale=100.0)
    against = f", {100 * cell.above:+.1f} points to the best offset" if not isnan(cell.above) else ""
    title = f"Head {name}, {way}: {100 * cell.accuracy:.1f}%{ends}{against}".replace("-0.0", "0.0")
    step = step_of(cell.above)
    address = f"#{head_anchor(kind.name, cell.layer, cell.head)}"
    link = el("a", f"{100 * cell.accuracy:.0f}", href=address, title=title)
    return el("td", link, class_=f"v{step}" if step else None)


def heat_key() -> Html:
    """Return the key of the shades: from at or below the offset to 40 points and more above it."""
    swatches = [el("i", class_=f"v{step}") for step in range(1, STEPS + 1)]
    return el(
        "p",
        "Points above the best fixed offset: ",
        el("span", "0 ", swatches, " 40 and more", class_="heat-key"),
        "; unshaded at or below it.",
        class_="caption",
    )
