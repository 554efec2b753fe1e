"""Axes that several figures share: layers, percent, labels at the ends of curves, and notes on missing data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, PercentFormatter
from numpy.typing import NDArray

from headscope.present.figures.series import Series
from headscope.present.figures.style import LINE, SOFT
from headscope.statistics.tables.frames import DISTANCES, SHORT

NOTE_POINTS = 10.0
"""Height of a note between a panel and its title, in points."""


def layer_axis(ax: Axes, layers: int) -> None:
    """Label the layers, all of them if they fit, and draw faint horizontal grid lines."""
    ax.set_xlim(0.4, layers + 0.6)
    if layers <= 12:
        ax.set_xticks(range(1, layers + 1))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=2))
    ax.set_xlabel("layer")
    ax.grid(axis="y", color=LINE)
    ax.spines["left"].set_visible(False)


def share_axis(ax: Axes, top: float) -> None:
    """Label the y axis in percent from 0 to `top` (a fraction)."""
    ax.set_ylim(0, top)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None if top < 0.05 else 0))


def share_top(*series: Series) -> float:
    """Return the upper end of a shared percent axis: 1 if a value exceeds one half, else a round number above all."""
    values = [line.heads["value"].max() for line in series if not line.heads.empty]
    values += [line.means["ci_high"].max() for line in series if line.means["ci_high"].notna().any()]
    values += [line.means["uniform"].max() for line in series if line.means["uniform"].notna().any()]
    highest = max(values, default=0.0)
    return next((step for step in (0.05, 0.1, 0.2, 0.25, 0.5) if highest < 0.95 * step), 1.0)


def log_axis(ax: Axes, low: float, high: float, *, subs: Sequence[float]) -> None:
    """Make the y axis logarithmic from `low` to `high`, with plain numbers at `subs` times the powers of ten."""
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=subs))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def whole_axis(ax: Axes, *, steps: int, labelsize: float) -> None:
    """Label the y axis from 0 to 100%, and draw faint horizontal grid lines."""
    shares = [step / steps for step in range(steps + 1)]
    ax.set_ylim(0, 1)
    ax.set_yticks(shares, [f"{100 * share:.0f}" for share in shares[:-1]] + ["100%"])
    ax.grid(axis="y", color=LINE)
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=labelsize)


def distance_axis(ax: Axes) -> None:
    """Label the x axis with the distance of two words, in words, from `frames.DISTANCES`."""
    ax.set_xlim(-0.3, len(DISTANCES) - 0.7)
    ax.set_xticks(range(len(DISTANCES)), SHORT)


def grid_axes(ax: Axes, layers: int, heads: int, *, most: int, **ticks: Any) -> None:
    """Set up the axes of a head grid: layers as rows, heads as columns, at most `most` labels along each."""
    ax.set_xlim(0.4, heads + 0.6)
    ax.set_ylim(layers + 0.6, 0.4)
    ax.set_aspect("equal")
    across, down = (max(1, -(-number // most)) for number in (heads, layers))
    ax.set_xticks(range(1, heads + 1, across))
    ax.set_yticks(range(1, layers + 1, down))
    ax.tick_params(**ticks)
    hide_spines(ax)


def hide_spines(ax: Axes) -> None:
    """Hide the lines around a panel."""
    for spine in ax.spines.values():
        spine.set_visible(False)


def interval_bars(
    ax: Axes, x: NDArray[Any], low: NDArray[Any], high: NDArray[Any], *, color: str, width: float, alpha: float
) -> None:
    """Draw intervals as vertical bars behind their values, if there are any."""
    if np.isfinite(low).any():
        ax.vlines(x, low, high, color=color, linewidth=width, alpha=alpha, gid="interval")


def name_ends(ax: Axes, x: float, ends: Sequence[tuple[float, str, str, str]], *, gap: float = 0.085) -> None:
    """Write the names of curves to the right of their ends, separated where the ends are close.

    Args:
        ax: axes with limits set, y axis linear or logarithmic.
        x: left position of the names.
        ends: the value at the end of each curve, its name, its color, and the name's id in the page.
        gap: distance between two names, as a share of the axis.
    """
    to, back = (np.log, np.exp) if ax.get_yscale() == "log" else (float, float)
    bottom, top = (float(to(limit)) for limit in ax.get_ylim())
    step = gap * (top - bottom)
    heights: list[float] = []
    ordered = sorted(ends, key=lambda end: end[0])
    for value, *_ in ordered:
        heights.append(max(heights[-1] + step if heights else bottom, float(to(value))))
    over = max(heights[-1] - (top - 0.02 * (top - bottom)), 0.0) if heights else 0.0
    for (_, name, color, gid), height in zip(ordered, heights):
        ax.text(x, float(back(height - over)), name, color=color, fontsize=9, va="center", ha="left", clip_on=False,
                gid=gid)  # fmt: skip


def say_missing(ax: Axes, names: Sequence[str]) -> None:
    """Write the omitted curves below a panel's title."""
    ax.set_title(ax.get_title(loc="left"), pad=rcParams["axes.titlepad"] + NOTE_POINTS)
    ax.text(
        0, 1, f"cannot occur here: {', '.join(names)}", transform=ax.transAxes, color=SOFT, fontsize=8,
        ha="left", va="bottom",
    )  # fmt: skip


def say_absent(ax: Axes, words: str) -> None:
    """Write the reason into an empty panel."""
    ax.set_axis_off()
    ax.text(0.0, 0.5, words, transform=ax.transAxes, color=SOFT, fontsize=9, va="center", wrap=True)
