"""The figure of effects kept: the explained share of each head's attention (x) and its effect kept (y)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from headscope.analyses.effects.kept.findings import sure_heads
from headscope.analyses.effects.kept.rows import Replaced
from headscope.figures.axes import interval_bars
from headscope.figures.head_points import draw_points
from headscope.figures.style import LINE, SOFT, house_style, new_figure
from headscope.report_kit.report_parts import Context, Drawing

_WIDTH, _HEIGHT = 5.2, 4.2
_LOWEST, _HIGHEST = -0.5, 1.25
"""The ends of the axis of effects kept; longer intervals are cut there."""


def draw_kept(about: Context, *_: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention with a head whose effect kept has an interval.

    Args:
        about: report context of the run.
    """
    for kind in about.kinds:
        if heads := sure_heads(about, kind):
            yield kind.ending, partial(kept_figure, heads, kind=kind.name, roles=about.roles)


def kept_figure(heads: Sequence[tuple[Replaced, float]], *, kind: str, roles: pd.DataFrame | None) -> Figure:
    """Draw a point for each head at the explained share of its attention (x) and its effect kept (y).

    Args:
        heads: heads, each with its explained share.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    names = [(each.layer or 0, each.head or 0) for each, _ in heads]
    x = np.array([share for _, share in heads])
    y, low, high = (
        np.array([getattr(each.kept, name) for each, _ in heads]) for name in ("value", "ci_low", "ci_high")
    )
    with house_style():
        figure = new_figure(_WIDTH, _HEIGHT)
        ax = figure.subplots()
        left = min(0.0, float(np.floor(10 * x.min()) / 10))
        ax.set_xlim(left - 0.02, 1.02)
        bottom = max(_LOWEST, min(0.0, float(np.floor(10 * y.min()) / 10))) - 0.05
        ax.set_ylim(bottom, _HIGHEST)
        ax.plot([left, 1], [left, 1], color=LINE, linewidth=1.0, zorder=1, gid="rule")
        ax.axhline(1, color=LINE, linewidth=1.0, zorder=1)
        ends = np.maximum(low, bottom), np.minimum(high, _HIGHEST)
        interval_bars(ax, x, *ends, color=SOFT, width=1.0, alpha=0.6)
        inside = np.clip(y, bottom, _HIGHEST)
        draw_points(ax, names, x, inside, kind=kind, name="kept", roles=roles)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("attention explained")
        ax.set_ylabel("effect kept")
        return figure
