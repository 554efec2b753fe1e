"""One statistic in a small panel: a point per head in its role's color and shape, and the layers' mean."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.present.figures.axes import layer_axis, say_absent, share_axis, share_top
from headscope.present.figures.head_points import finders_of, name_finders, roles_of
from headscope.present.figures.series import Series, draw_heads, draw_means, draw_uniform, name_heads, points_of, select
from headscope.present.figures.style import SOFT, figure_of, house_style, new_figure
from headscope.statistics.statistic_catalog import figure_names, is_share, of_topic
from headscope.visible import capital

NAMES: Mapping[str, str] = figure_names()
ENTROPIES = of_topic("focus")
NAMED_ABOVE = 0.25
SPREAD = 0.62
"""Share of a layer's width that its heads take, side by side."""


@house_style()
def statistic_panel(
    stats: pd.DataFrame,
    statistic: str,
    *,
    kind: str,
    roles: pd.DataFrame | None = None,
    names: Mapping[str, str] = NAMES,
    top: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw one statistic of one kind: a point per head in its role's color and shape, side by side in head order.

    Args:
        stats: `tables/stats.parquet`.
        statistic: a share of attention, e.g. `previous`, or an entropy.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`; without it all points are ink.
        names: names of the statistics.
        top: end of the percent axis, as a fraction, so that neighboring panels can share it; entropies share one axis
            per kind.
        ax: axes to draw on; created if None.
    """
    series = select(stats, statistic, kind=kind)
    ax = ax or new_figure(panel_width(series.layers), 2.7).subplots()
    ax.set_title(capital(names[statistic]))
    if series.empty:
        say_absent(ax, "Cannot occur in this kind of attention.")
        return figure_of(ax)
    layer_axis(ax, series.layers)
    if is_share(statistic):
        share_axis(ax, share_top(series) if top is None else top)
    else:
        ax.set_ylim(0, _entropy_top(stats, kind))
        ax.set_ylabel("nats")
    draw_means(ax, series)
    draw_uniform(ax, series)
    known, finders = None if roles is None else roles_of(roles, kind), finders_of(roles, kind)
    draw_heads(ax, series, roles=known, spread=SPREAD, finders=finders)
    if is_share(statistic):
        name_heads(ax, series, bar=NAMED_ABOVE, spread=SPREAD)
    else:
        name_finders(ax, points_of(series, spread=SPREAD), finders)
        _name_uniform(ax, series)
    return figure_of(ax)


def _entropy_top(stats: pd.DataFrame, kind: str) -> float:
    rows = stats[(stats["kind"] == kind) & stats["statistic"].isin(ENTROPIES)]
    highest = np.nanmax([rows["value"].max(), rows["uniform"].max(), rows["ci_high"].max(), 0.1])
    return float(1.12 * highest)


def _name_uniform(ax: Axes, series: Series) -> None:
    uniform = series.means["uniform"].dropna()
    if uniform.empty:
        return
    ax.annotate(
        "uniform", (series.layers + 0.5, float(uniform.iloc[-1])), xytext=(0, 3), textcoords="offset points",
        ha="right", va="bottom", fontsize=9, color=SOFT,
    )  # fmt: skip


def panel_width(layers: int) -> float:
    """Return a small panel's width in inches: wider for deep models, so that layers stay separate."""
    return min(max(3.4, 0.16 * layers + 1.2), 9.0)
