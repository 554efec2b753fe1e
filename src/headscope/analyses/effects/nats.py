"""Format nats on both sides of 0: on an axis, linear near 0 and logarithmic beyond, and in tables."""

from math import isnan
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from headscope.report_kit.numbers import DASH, HYPHEN, ends, nats
from headscope.report_kit.tables.cells import Cell

LINEAR = 1e-3
"""Distance from 0 up to which an axis is linear by default, nats."""


def nats_axis(ax: Axes, which: Literal["x", "y"], *, linear: float = LINEAR) -> None:
    """Scale an axis for nats, and write its numbers with a minus sign.

    Args:
        ax: matplotlib axes.
        which: axis to scale.
        linear: distance from 0 up to which the axis is linear, nats.
    """
    set_scale = ax.set_xscale if which == "x" else ax.set_yscale
    set_scale("symlog", linthresh=linear, linscale=0.6)
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}".replace("-", "−")))


def nats_cell(value: float, *, missing: str = DASH) -> str:
    """Format a number of nats for tables; a missing number becomes `missing`, which is `HYPHEN` in a terminal."""
    if isnan(value):
        return missing
    return nats(value) if missing == HYPHEN else nats(value).replace("-", "−")


def nats_with_ends(cell: Cell) -> tuple[str, str]:
    """Format a number of nats and its interval for the page's tables."""
    return nats_cell(cell.value), ends(cell, nats_cell, between=" to ", missing=DASH)
