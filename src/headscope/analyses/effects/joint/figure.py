"""The figure of heads removed together: a panel for each order, with the losses of random orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from headscope.analyses.effects.joint.rows import Curve, curves_in, random_band
from headscope.analyses.effects.joint.tables import RANDOM
from headscope.analyses.effects.nats import nats_axis
from headscope.figures.paper import narrow
from headscope.figures.style import INK, LINE, SOFT, house_style, new_figure
from headscope.report_kit.report_parts import Context, Drawing

_WIDE, _HIGH = 2.8, 2.2
_LINEAR = 0.03
"""Distance from 0 up to which the axis is linear, nats; beyond it the axis is logarithmic."""


def draw_joint(_: Context, curves: pd.DataFrame, areas: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure.

    Args:
        curves: `tables/joint_curves.parquet`.
        areas: `tables/joint_areas.parquet`.
    """
    if len(curves):
        yield "", partial(joint_figure, curves_in(curves, areas), random_band(curves))


def joint_figure(curves: Sequence[Curve], band: pd.DataFrame) -> Figure:
    """Draw the added loss by the number of heads removed, each order with its interval in front of random orders.

    Args:
        curves: curves of the named orders, and the mean of the random orders.
        band: smallest and largest loss of a random order, by the number of heads removed.
    """
    named = [curve for curve in curves if curve.order != RANDOM]
    random = next(curve for curve in curves if curve.order == RANDOM)
    columns = min(len(named), 2 if narrow() or len(named) == 4 else 3)
    rows = -(-len(named) // columns)
    with house_style():
        figure = new_figure(_WIDE * columns, _HIGH * rows)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax, curve in zip(panels.flat, named, strict=False):
            _panel(ax, curve, random, band)
        for ax in panels.flat[len(named) :]:
            ax.set_axis_off()
        for ax in panels[:, 0]:
            ax.set_ylabel("added loss, nats")
        for index, ax in enumerate(panels.flat[: len(named)]):
            if index + columns >= len(named):  # the lowest of its column
                ax.set_xlabel("heads removed")
                ax.tick_params(labelbottom=True)
        return figure


def _panel(ax: Axes, curve: Curve, random: Curve, band: pd.DataFrame) -> None:
    at = np.array(list(curve.points))
    nats_axis(ax, "y", linear=_LINEAR)
    ax.yaxis.set_major_locator(FixedLocator([-1, -0.1, 0, 0.1, 1, 10]))
    ax.axhline(0, color=LINE, linewidth=1.0, zorder=0)
    ax.fill_between(band.index, band["min"], band["max"], color=LINE, linewidth=0, zorder=1, gid="band")
    ax.plot(at, [cell.value for cell in random.points.values()], color=SOFT, linewidth=1.2, zorder=2, gid="random")
    low, high = (np.array([getattr(cell, end) for cell in curve.points.values()]) for end in ("ci_low", "ci_high"))
    value = np.array([cell.value for cell in curve.points.values()])
    if np.isfinite(low).any():
        ax.fill_between(at, low, high, color=INK, alpha=0.25, linewidth=0, zorder=3, gid="interval")
    ax.plot(at, value, color=INK, linewidth=1.6, marker="o", markersize=5.0, zorder=4, clip_on=False, gid="order")
    ax.set_xlim(0, at[-1])
    ax.set_xticks(at[at != at[1]] if len(at) > 4 else at)
    ax.set_title(curve.label)
