"""The figure of effective dimensions of every head's queries, keys and output."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.tables import EFFECTIVE, TITLES
from headscope.attention.head_id import head_anchor
from headscope.figures.series import roles_of
from headscope.figures.style import INK, LINE, house_style, new_figure, role_color, role_outline

_WIDTH, _HEIGHT = 8.4, 1.4


def effective_dimension_figure(
    table: pd.DataFrame, *, kind: str, roles: pd.DataFrame | None = None
) -> Figure:
    """Draw a point for each head at its effective dimension; a panel each for queries, keys and output.

    Heads stand in their order, layer after layer. A point links to its head's card.

    Args:
        table: `tables/directions.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    dimensions = table[(table["kind"] == kind) & (table["statistic"] == EFFECTIVE) & table["value"].notna()]
    known = [side for side in SIDES if (dimensions["vectors"] == side).any()]
    with house_style():
        figure = new_figure(_WIDTH, 0.5 + _HEIGHT * max(1, len(known)))
        axes = figure.subplots(max(1, len(known)), 1, sharex=True, squeeze=False)[:, 0]
        for ax, side in zip(axes, known):
            _panel(ax, dimensions[dimensions["vectors"] == side], side, kind, roles)
        axes[-1].set_xlabel("layer")
        return figure


def _panel(ax: Axes, table: pd.DataFrame, side: str, kind: str, roles: pd.DataFrame | None) -> None:
    layer, head = table["layer"].to_numpy(int), table["head"].to_numpy(int)
    # A layer is 1 wide, and its heads stand side by side in 0.8 of it.
    x = layer + 0.8 * ((head - 0.5) / head.max() - 0.5)
    values = table["value"].to_numpy(float)
    names = list(zip(layer.tolist(), head.tolist(), strict=True))
    worn = roles_of(roles, kind)
    role_of = np.array([worn.get(name, "mixed") for name in names], dtype=object)
    size = max(6.0, min(30.0, 3000 / len(names)))
    for role in sorted(set(role_of), key=lambda role: (-int((role_of == role).sum()), role)):
        these = np.flatnonzero(role_of == role)
        points = ax.scatter(
            x[these], values[these], s=size, marker=role_outline(role), facecolors=role_color(role),
            linewidths=0.0, zorder=3, clip_on=False,
        )  # fmt: skip
        points.set_paths([role_outline(role)])
        points.set_urls([f"#{head_anchor(kind, *names[index])}" for index in these])
        points.set_gid(f"heads--{kind}--pca-{side}--{role}")
    ax.set_ylim(0, None)
    ax.set_title(f"{TITLES[side]}, directions", loc="left", fontsize=10, color=INK)
    layers = int(layer.max())
    ax.set_xlim(0.5, layers + 0.5)
    ax.set_xticks(np.unique(np.linspace(1, layers, min(layers, 12)).round().astype(int)))
    for edge in np.arange(1, layers) + 0.5:
        ax.axvline(edge, color=LINE, linewidth=0.5, zorder=0)
