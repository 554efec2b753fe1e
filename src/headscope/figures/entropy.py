"""Figure 4 of the paper: how focused or broad the heads of each layer are, over all tokens and from the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.figures.axes import layer_axis, say_absent
from headscope.figures.finders import finders_of, name_finders
from headscope.figures.head_points import roles_of
from headscope.figures.paper import across
from headscope.figures.series import (
    Series,
    draw_heads,
    draw_means,
    draw_uniform,
    points_of,
    select,
)
from headscope.figures.statistic_panel import NAMES, SPREAD, panel_width
from headscope.figures.stats_points import kinds_in, panel_title
from headscope.figures.style import INK, SOFT, figure_of, house_style, new_figure
from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import of_topic
from headscope.visible import capital

DRAWN = of_topic("focus", unit=Unit.NATS)


def entropy_by_layer(
    stats: pd.DataFrame,
    *,
    roles: pd.DataFrame | None = None,
    names: Mapping[str, str] = NAMES,
    axes: Sequence[Sequence[Axes]] | None = None,
) -> Figure:
    """Draw figure 4: each head's entropy in nats by layer, from all tokens and from the first; a row a kind.

    Args:
        stats: `tables/stats.parquet`; `uniform` of `entropy` is the mean over rows of ln(visible keys).
        roles: `kind layer head role`, for the points' colors and shapes; all are ink without it. Heads that
            its `finds` names something for are larger, with an edge, and named where there is room.
        names: the panels' titles.
        axes: a row of axes for each kind in the table, one a statistic; made when not given.
    """
    kinds = kinds_in(stats)
    with house_style():
        if axes is None:
            width = panel_width(int(stats["layer"].max()))
            columns = across(len(DRAWN), each=2.4)
            lines = -(-len(DRAWN) // columns) * len(kinds)
            figure = new_figure(columns * width, 2.9 * lines)
            panels = figure.subplots(lines, columns, squeeze=False)
            axes = panels.reshape(len(kinds), len(DRAWN)).tolist()
        elif len(axes) != len(kinds) or any(len(row) != len(DRAWN) for row in axes):
            raise ValueError(
                f"Expected {len(kinds)} rows of {len(DRAWN)} axes ({', '.join(kinds)}), got "
                f"{[len(row) for row in axes]}; give one row a kind, and in it one axes for each of {', '.join(DRAWN)}."
            )
        for kind, row in zip(kinds, axes):
            for statistic, ax in zip(DRAWN, row):
                entropy_panel(stats, statistic, kind=kind, roles=roles, names=names, ax=ax)
                ax.set_title(panel_title(capital(names[statistic]), kind, kinds))
        return figure_of(axes[0][0])


def entropy_panel(
    stats: pd.DataFrame,
    statistic: str = "entropy",
    *,
    kind: str,
    roles: pd.DataFrame | None = None,
    names: Mapping[str, str] = NAMES,
    ax: Axes | None = None,
) -> Figure:
    """Draw one panel of figure 4: `entropy` or `entropy_cls` of one kind, with all panels' y axis the same."""
    series = select(stats, statistic, kind=kind)
    with house_style():
        ax = ax or new_figure(panel_width(series.layers), 2.7).subplots()
        ax.set_title(capital(names[statistic]))
        if series.empty:
            say_absent(ax, "Cannot occur in this kind of attention.")
            return figure_of(ax)
        layer_axis(ax, series.layers)
        ax.set_ylim(0, _top(stats, kind))
        ax.set_ylabel("nats")
        draw_means(ax, series)
        draw_uniform(ax, series)
        known = roles_of(roles, kind) if roles is not None else None
        finders = finders_of(roles, kind)
        draw_heads(ax, series, roles=known, color=INK, spread=SPREAD, finders=finders)
        name_finders(ax, points_of(series, spread=SPREAD), finders)
        _name_uniform(ax, series)
        return figure_of(ax)


def _top(stats: pd.DataFrame, kind: str) -> float:
    rows = stats[(stats["kind"] == kind) & stats["statistic"].isin(DRAWN)]
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
