"""The figure of the deciles of every head: output norm, non-sink attention, entropy, distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from headscope.analyses.distribution.row_measures import MEASURES, RowMeasure
from headscope.attention.head_id import head_anchor
from headscope.figures.series import roles_of
from headscope.figures.style import INK, LINE, SOFT, TICK, house_style, new_figure, role_color, role_outline

_WIDTH, _HEIGHT = 8.4, 1.55
_INNER = (3, 7)
"""A head's line is thick between these deciles."""


def decile_figure(table: pd.DataFrame, *, kind: str, roles: pd.DataFrame | None = None) -> Figure:
    """Draw a line for each head from its first decile to its ninth, a point at the fifth; a panel a measure.

    Heads stand in their order, layer after layer; measures that the kind does not have are left out. A point links to
    its head's card.

    Args:
        table: `tables/distribution.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    deciles = table[table["kind"] == kind]
    known = [name for name in MEASURES if deciles.loc[deciles["measure"] == name, "value"].notna().any()]
    with house_style():
        figure = new_figure(_WIDTH, 0.5 + _HEIGHT * max(1, len(known)))
        axes = figure.subplots(max(1, len(known)), 1, sharex=True, squeeze=False)[:, 0]
        for ax, name in zip(axes, known):
            _panel(ax, deciles[deciles["measure"] == name], MEASURES[name], kind, roles)
        axes[-1].set_xlabel("layer")
        return figure


def _panel(ax: Axes, table: pd.DataFrame, measure: RowMeasure, kind: str, roles: pd.DataFrame | None) -> None:
    wide = table.pivot(index=["layer", "head"], columns="decile", values="value").dropna()
    layer = wide.index.get_level_values("layer").to_numpy(float)
    head = wide.index.get_level_values("head").to_numpy(float)
    # A layer is 1 wide, and its heads stand side by side in 0.8 of it.
    x = layer + 0.8 * ((head - 0.5) / head.max() - 0.5)
    thin = max(0.4, min(1.2, 120 / len(x)))
    low, high = (wide[decile].to_numpy() for decile in _INNER)
    gid = f"deciles--{kind}--{measure.name}"
    _lines(
        ax, x, wide[1].to_numpy(), wide[9].to_numpy(), color=SOFT, width=thin, zorder=1, alpha=0.7, gid=gid
    )
    _lines(ax, x, low, high, color=TICK, width=4 * thin, zorder=2)
    _points(ax, wide, x, measure, roles_of(roles, kind), kind)
    if measure.logarithmic:
        least = wide[1][wide[1] > 0].min() if (wide[1] > 0).any() else 1.0
        ax.set_yscale("log")
        ax.set_ylim(least / 1.3, float(wide[9].max()) * 1.3)
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    elif measure.unit == "share":
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    else:
        ax.set_ylim(0, None)
    ax.set_title(f"{measure.label}, {_unit(measure)}", loc="left", fontsize=10, color=INK)
    layers = int(layer.max())
    ax.set_xlim(0.5, layers + 0.5)
    ax.set_xticks(np.unique(np.linspace(1, layers, min(layers, 12)).round().astype(int)))
    for edge in np.arange(1, layers) + 0.5:
        ax.axvline(edge, color=LINE, linewidth=0.5, zorder=0)


def _lines(
    ax: Axes,
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    color: str,
    width: float,
    zorder: int,
    **how: Any,
) -> None:
    """Draw all vertical lines as one path, so that a page with a thousand heads stays small."""
    gap = np.full(len(x), np.nan)
    across, along = (np.stack(ends, axis=1).ravel() for ends in ((x, x, gap), (low, high, gap)))
    ax.plot(across, along, color=color, linewidth=width, solid_capstyle="butt", zorder=zorder, **how)


def _points(
    ax: Axes,
    wide: pd.DataFrame,
    x: np.ndarray,
    measure: RowMeasure,
    worn: dict[tuple[int, int], str],
    kind: str,
) -> None:
    names = [(int(layer), int(head)) for layer, head in wide.index]
    role_of_head = np.array([worn.get(name, "mixed") for name in names], dtype=object)
    middle = wide[5].to_numpy()
    size = max(6.0, min(30.0, 3000 / len(names)))
    for role in sorted(set(role_of_head), key=lambda role: (-int((role_of_head == role).sum()), role)):
        these = np.flatnonzero(role_of_head == role)
        points = ax.scatter(
            x[these], middle[these], s=size, marker=role_outline(role), facecolors=role_color(role), linewidths=0.0,
            zorder=3, clip_on=False,
        )  # fmt: skip
        points.set_paths([role_outline(role)])
        points.set_urls(
            [f"#{head_anchor(kind, layer, head)}" for layer, head in (names[index] for index in these)]
        )
        points.set_gid(f"heads--{kind}--{measure.name}--{role}")


def _unit(measure: RowMeasure) -> str:
    return {"share": "% of the weight", "nats": "nats", "tokens": "tokens"}.get(measure.unit, measure.unit)
