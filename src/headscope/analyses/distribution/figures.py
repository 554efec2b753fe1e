"""The figure of the deciles of every head: output norm, non-sink attention, entropy, distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from headscope.analyses.distribution.row_measures import MEASURES, RowMeasure
from headscope.figures.axes import log_axis
from headscope.figures.head_points import draw_points, panel_column, side_by_side
from headscope.figures.style import INK, SOFT, TICK, house_style

_INNER = (3, 7)
"""A head's line is thick between these deciles."""


@house_style()
def decile_figure(table: pd.DataFrame, *, kind: str, roles: pd.DataFrame | None = None) -> Figure:
    """Draw a line for each head from its first decile to its ninth, a point at the fifth; one panel per measure.

    Heads are in order, layer after layer; measures that the kind does not have are left out. A point links to
    its head's card.

    Args:
        table: `tables/distribution.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    deciles = table[table["kind"] == kind]
    known = [name for name in MEASURES if deciles.loc[deciles["measure"] == name, "value"].notna().any()]
    figure, axes = panel_column(len(known), height=1.55)
    for ax, name in zip(axes, known):
        _panel(ax, deciles[deciles["measure"] == name], MEASURES[name], kind, roles)
    return figure


def _panel(ax: Axes, table: pd.DataFrame, measure: RowMeasure, kind: str, roles: pd.DataFrame | None) -> None:
    wide = table.pivot(index=["layer", "head"], columns="decile", values="value").dropna()
    heads = [(int(layer), int(head)) for layer, head in wide.index]
    x = side_by_side(ax, heads)
    thin = max(0.4, min(1.2, 120 / len(x)))
    low, high = (wide[decile].to_numpy() for decile in _INNER)
    gid = f"deciles--{kind}--{measure.name}"
    _lines(ax, x, wide[1].to_numpy(), wide[9].to_numpy(), color=SOFT, width=thin, zorder=1, alpha=0.7, gid=gid)
    _lines(ax, x, low, high, color=TICK, width=4 * thin, zorder=2)
    draw_points(ax, heads, x, wide[5].to_numpy(), kind=kind, name=measure.name, roles=roles)
    if measure.logarithmic:
        least = wide[1][wide[1] > 0].min() if (wide[1] > 0).any() else 1.0
        log_axis(ax, least / 1.3, float(wide[9].max()) * 1.3, subs=(1.0, 3.0))
    elif measure.unit == "share":
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    else:
        ax.set_ylim(0, None)
    unit = "% of the weight" if measure.unit == "share" else measure.unit
    ax.set_title(f"{measure.label}, {unit}", loc="left", fontsize=10, color=INK)


def _lines(
    ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, *, color: str, width: float, zorder: int, **how: Any
) -> None:
    """Draw all vertical lines as one path, so that a page with a thousand heads stays small."""
    gap = np.full(len(x), np.nan)
    across, along = (np.stack(ends, axis=1).ravel() for ends in ((x, x, gap), (low, high, gap)))
    ax.plot(across, along, color=color, linewidth=width, solid_capstyle="butt", zorder=zorder, **how)
