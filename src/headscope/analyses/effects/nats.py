"""Nats on both sides of 0: on an axis, linear next to it and logarithmic beyond, and in tables."""

from math import isnan
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from headscope.report_kit.numbers import DASH, HYPHEN, ends, nats
from headscope.report_kit.tables.cells import Cell

LINEAR = 1e-3
"""Between this many nats on both sides of 0 an axis is linear, unless another number is given."""


def nats_axis(ax: Axes, which: Literal["x", "y"], *, linear: float = LINEAR) -> None:
    """Make an axis one of nats, its numbers with a minus sign.

    Args:
        ax: the axes.
        which: of the two.
        linear: how far from 0 it is linear, nats.
    """
    set_scale = ax.set_xscale if which == "x" else ax.set_yscale
    set_scale("symlog", linthresh=linear, linscale=0.6)
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}".replace("-", "−")))


def nats_cell(value: float, *, missing: str = DASH) -> str:
    """Return a number of nats as tables print it, or what stands for a missing one; `HYPHEN` for a terminal."""
    if isnan(value):
        return missing
    return nats(value) if missing == HYPHEN else nats(value).replace("-", "−")


def nats_with_ends(cell: Cell) -> tuple[str, str]:
    """Return a number of nats and its interval as the page's tables print them."""
    return nats_cell(cell.value), ends(cell, nats_cell, between=" to ", missing=DASH)
