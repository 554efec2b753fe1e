"""Axes that several figures share: layers across, percent upwards, and what an empty panel says."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headscope.figures.series import Series
from headscope.figures.style import LINE, SOFT

NOTE_POINTS = 10.0
"""How high a note between a panel and its title is."""


def layer_axis(ax: Axes, layers: int) -> None:
    """Number the layers, all of them where they fit, and rule faint horizontal lines."""
    ax.set_xlim(0.4, layers + 0.6)
    if layers <= 12:
        ax.set_xticks(range(1, layers + 1))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=2))
    ax.set_xlabel("layer")
    ax.grid(axis="y", color=LINE)
    ax.spines["left"].set_visible(False)


def share_axis(ax: Axes, top: float) -> None:
    """Number the y axis in percent from 0 to `top` (a fraction)."""
    ax.set_ylim(0, top)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None if top < 0.05 else 0))


def share_top(*series: Series) -> float:
    """Return where a shared percent axis ends: 1 when anything passes one half, else a round number above all."""
    values = [line.heads["value"].max() for line in series if not line.heads.empty]
    values += [line.means["ci_high"].max() for line in series if line.means["ci_high"].notna().any()]
    values += [line.means["uniform"].max() for line in series if line.means["uniform"].notna().any()]
    highest = max(values, default=0.0)
    return next((step for step in (0.05, 0.1, 0.2, 0.25, 0.5) if highest < 0.95 * step), 1.0)


def say_missing(ax: Axes, names: Sequence[str]) -> None:
    """Write below a panel's title what it leaves out."""
    ax.set_title(ax.get_title(loc="left"), pad=rcParams["axes.titlepad"] + NOTE_POINTS)
    ax.text(
        0, 1, f"cannot occur here: {', '.join(names)}", transform=ax.transAxes, color=SOFT, fontsize=8,
        ha="left", va="bottom",
    )  # fmt: skip


def say_absent(ax: Axes, words: str) -> None:
    """Write in an empty panel why it is empty."""
    ax.set_axis_off()
    ax.text(0.0, 0.5, words, transform=ax.transAxes, color=SOFT, fontsize=9, va="center", wrap=True)
