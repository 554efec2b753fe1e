"""An axis of nats on both sides of 0: linear next to it, logarithmic beyond."""

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

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
