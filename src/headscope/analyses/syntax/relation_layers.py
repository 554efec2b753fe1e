"""Relations by layers as a heat map, figure and table: the accuracy of each layer's best head, and its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isnan

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Rectangle

from headscope.analyses.syntax.relations import Relation, best_offsets
from headscope.attention.head_id import head_anchor
from headscope.palette import palette
from headscope.present.figures.axes import hide_spines
from headscope.present.figures.style import INK, SOFT, figure_of, house_style, label, narrow, new_figure
from headscope.present.kinds import Kind
from headscope.present.numbers import bracketed_interval
from headscope.present.page_tables import scrolled
from headscope.present.study import Study
from headscope.present.words import DIRECTIONS, short
from headscope.views.markup import Html, el

STEPS = 9
LEAST_WIDTH = 4.8
"""Width in inches that the key needs."""
TOP = 0.4
"""The margin over the best offset, as a fraction, from which the shade is strongest."""


@dataclass(frozen=True)
class LayerBest:
    """The best head and direction of one layer for one relation."""

    layer: int
    head: int
    direction: str
    accuracy: float
    ci_low: float
    ci_high: float
    above: float


def best_by_layer(syntax: pd.DataFrame, baselines: Mapping[str, float], *, kind: str) -> dict[str, list[LayerBest]]:
    """Select each layer's best head and direction for every relation from `tables/syntax.parquet`.

    Args:
        syntax: accuracies of all heads; only the trained model's rows of `kind` are used.
        baselines: relation to the accuracy of its best fixed offset, a fraction; NaN where it has none.
        kind: `encoder` or `decoder`.

    Returns:
        Relation to its layers in order; `above` is the accuracy minus the offset's. Ties go to the lower head.
    """
    rows = syntax[(syntax["model"] == "trained") & (syntax["kind"] == kind)]
    rows = rows[rows["accuracy"].notna()]
    if rows.empty:
        return {}
    order = rows.sort_values(["head", "direction"], kind="stable")
    best = order.loc[order.groupby(["relation", "layer"], sort=False)["accuracy"].idxmax()]
    offsets = best["relation"].astype(str).map(dict(baselines)).astype("float64")
    best = best.assign(above=best["accuracy"] - offsets).sort_values("layer")
    columns = [field.name for field in fields(LayerBest)]
    return {
        str(name): [LayerBest(*row) for row in rows[columns].itertuples(index=False, name=None)]
        for name, rows in best.groupby("relation", sort=False)
    }


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
def relation_layers(
    syntax: pd.DataFrame, baselines: Mapping[str, float], *, kind: str, relations: Sequence[str] | None = None
) -> Figure:
    """Draw the heat map of one kind: accuracy in percent in each cell, shaded by its margin over the best offset.

    Args:
        syntax: `tables/syntax.parquet`.
        baselines: relation to the accuracy of its best fixed offset.
        kind: `encoder` or `decoder`.
        relations: relations to draw, in order; all by default.

    Raises:
        ValueError: the table has no relation of this kind.
    """
    cells_by_relation = best_by_layer(syntax, baselines, kind=kind)
    names = [name for name in (relations if relations is not None else cells_by_relation) if name in cells_by_relation]
    if not names:
        raise ValueError(
            f"Expected accuracies of {kind} heads for at least one relation, got none; run with a larger treebank."
        )
    layers = max(cell.layer for name in names for cell in cells_by_relation[name])
    width = min(max(1.9 + 0.48 * layers, LEAST_WIDTH), 30.0)
    ax = new_figure(width, 1.15 + 0.27 * len(names)).subplots()
    for y, name in enumerate(names):
        for cell in cells_by_relation[name]:
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


MOST_CELLS = 1500
"""A larger table would be the heaviest part of the page, so only the most frequent relations are kept."""


def drawn_relations(relations: Sequence[Relation], cells_by_relation: Mapping[str, Sequence[LayerBest]]) -> list[str]:
    """Return the relations that are shown, in the order of table 1; if there are too many, the most frequent ones."""
    present = [relation for relation in relations if relation.name in cells_by_relation and not relation.overall]
    layers = max((len(cells_by_relation[relation.name]) for relation in present), default=1)
    most = max(MOST_CELLS // layers, 1)
    frequent = {relation.name for relation in sorted(present, key=lambda relation: -relation.n)[:most]}
    return [relation.name for relation in present if relation.name in frequent]


def heat_table(run: Study, relations: Sequence[Relation], kind: Kind) -> Html | None:
    """Return the heat map of one kind of attention, each cell linked to the card of its head."""
    accuracies = run.tables.get("syntax")
    if accuracies is None:
        return None
    cells_by_relation = best_by_layer(accuracies, best_offsets(run), kind=kind.name)
    names = drawn_relations(relations, cells_by_relation)
    if not names:
        return None
    layers = max(cell.layer for name in names for cell in cells_by_relation[name])
    rows = []
    for name in names:
        cells = {cell.layer: _cell(cell, kind) for cell in cells_by_relation[name]}
        of_layers = [cells.get(layer, el("td")) for layer in range(1, layers + 1)]
        rows.append(el("tr", el("th", short(name), scope="row"), of_layers))
    titles = [el("th", title, scope="col") for title in ("relation", *map(str, range(1, layers + 1)))]
    table = el("table", el("thead", el("tr", titles)), el("tbody", rows), id=f"table-heat-{kind.name}", class_="heat")
    return scrolled(table, "Accuracy of the best head of each layer, by relation")


def _cell(cell: LayerBest, kind: Kind) -> Html:
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
