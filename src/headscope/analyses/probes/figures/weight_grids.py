"""The weights that a probe gives the heads: a head grid for each direction."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headscope.attention.head_id import head_anchor
from headscope.figures.axes import grid_axes, say_absent
from headscope.figures.paper import across, panel_inches
from headscope.figures.style import INK, LINE, house_style, new_figure, role_color

TITLES = {"dependent->head": "dependent → head word", "head->dependent": "head word → dependent"}
POSITIVE, NEGATIVE = "syntax", "sep"
_CELL = 0.27  # inches


def weights_of(table: pd.DataFrame, probe: str, *, kind: str) -> pd.DataFrame:
    """Return one probe's weights of one kind of attention."""
    return table[(table["probe"] == probe) & (table["kind"] == kind)]


@house_style()
def probe_weights(table: pd.DataFrame, probe: str, *, kind: str) -> Figure:
    """Draw a probe's weights of one kind of attention: layers as rows, heads as columns, one grid per direction.

    The shade of a cell grows with the absolute weight, on one scale for both directions; a weight below zero has
    another color and a bar across it. Each cell links to its head's card.

    Args:
        table: `tables/probe_weights.parquet`.
        probe: `attention` or `attention and words`.
        kind: `encoder` or `decoder`.

    Raises:
        ValueError: the table has no weight of this probe and kind.
    """
    weights = weights_of(table, probe, kind=kind)
    if weights.empty:
        raise ValueError(
            f"Expected weights of the probe on {probe} for {kind} heads, got none; run with --treebank-train."
        )
    layers, heads = int(weights["layer"].max()), int(weights["head"].max())
    most = float(weights["weight"].abs().max()) or 1.0
    columns = across(2, each=2.4)
    width = panel_inches(columns, free=min(_CELL * heads + 0.8, 14.0))
    cell = min(_CELL, (width - 0.8) / heads)
    figure = new_figure(2 * width, (2 // columns) * min(cell * layers + 0.9, 24.0))
    axes = figure.subplots(2 // columns, columns, sharey=True).ravel()
    for (direction, title), ax in zip(TITLES.items(), axes):
        ax.set_title(title)
        rows = weights[weights["direction"] == direction]
        if rows.empty:
            say_absent(ax, "This direction has no weight.")
            continue
        for row in rows.to_dict("records"):
            _cell(ax, kind, int(row["layer"]), int(row["head"]), float(row["weight"]), most)
        grid_axes(ax, layers, heads, most=16, labelsize=8)
        ax.set_xlabel("head")
    axes[0].set_ylabel("layer")
    return figure


def _cell(ax: Axes, kind: str, layer: int, head: int, weight: float, most: float) -> None:
    color = role_color(POSITIVE if weight >= 0 else NEGATIVE)
    corner = (head - 0.44, layer - 0.44)
    ax.add_patch(Rectangle(corner, 0.88, 0.88, facecolor="none", edgecolor=LINE, linewidth=0.8))
    cell = Rectangle(corner, 0.88, 0.88, facecolor=color, alpha=abs(weight) / most, linewidth=0)
    cell.set_url(f"#{head_anchor(kind, layer, head)}")
    ax.add_patch(cell)
    if weight < 0 and abs(weight) / most >= 0.1:
        ax.plot([head - 0.2, head + 0.2], [layer, layer], color=INK, linewidth=1, solid_capstyle="butt", gid="minus")
