"""The figure of effective dimensions of every head's queries, keys and output."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.tables import EFFECTIVE, TITLES
from headscope.figures.head_points import draw_points, panel_column, side_by_side
from headscope.figures.style import INK, house_style


@house_style()
def effective_dimension_figure(table: pd.DataFrame, *, kind: str, roles: pd.DataFrame | None = None) -> Figure:
    """Draw a point for each head at its effective dimension; one panel each for queries, keys and output.

    Heads are in order, layer after layer. A point links to its head's card.

    Args:
        table: `tables/pca.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    dimensions = table[(table["kind"] == kind) & (table["statistic"] == EFFECTIVE) & table["value"].notna()]
    known = [side for side in SIDES if (dimensions["vectors"] == side).any()]
    figure, axes = panel_column(len(known), height=1.4)
    for ax, side in zip(axes, known):
        rows = dimensions[dimensions["vectors"] == side]
        heads = list(zip(rows["layer"].astype(int), rows["head"].astype(int), strict=True))
        x, y = side_by_side(ax, heads), rows["value"].to_numpy(float)
        draw_points(ax, heads, x, y, kind=kind, name=f"pca-{side}", roles=roles)
        ax.set_ylim(0, None)
        ax.set_title(f"{TITLES[side]}, directions", loc="left", fontsize=10, color=INK)
    return figure
