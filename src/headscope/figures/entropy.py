"""Figure 4 of the paper: how focused or broad the heads of each layer are, over all tokens and from the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.figures.paper import across
from headscope.figures.statistic_panel import ENTROPIES, NAMES, panel_width, statistic_panel
from headscope.figures.stats_points import kinds_in, panel_title
from headscope.figures.style import figure_of, house_style, new_figure
from headscope.visible import capital


@house_style()
def entropy_by_layer(
    stats: pd.DataFrame,
    *,
    roles: pd.DataFrame | None = None,
    names: Mapping[str, str] = NAMES,
    axes: Sequence[Sequence[Axes]] | None = None,
) -> Figure:
    """Draw figure 4: each head's entropy in nats by layer, from all tokens and from the first; one row per kind.

    Args:
        stats: `tables/stats.parquet`; `uniform` of `entropy` is the mean over rows of ln(visible keys).
        roles: `kind layer head role`, for the points' colors and shapes; without it all are ink. Heads with an entry in
            `finds` are larger, outlined, and labeled if there is room.
        names: the panels' titles.
        axes: a row of axes for each kind in the table, one axes per statistic; created if None.
    """
    kinds = kinds_in(stats)
    if axes is None:
        width = panel_width(int(stats["layer"].max()))
        columns = across(len(ENTROPIES), each=2.4)
        lines = -(-len(ENTROPIES) // columns) * len(kinds)
        figure = new_figure(columns * width, 2.9 * lines)
        panels = figure.subplots(lines, columns, squeeze=False)
        axes = panels.reshape(len(kinds), len(ENTROPIES)).tolist()
    elif len(axes) != len(kinds) or any(len(row) != len(ENTROPIES) for row in axes):
        raise ValueError(
            f"Expected {len(kinds)} rows of {len(ENTROPIES)} axes ({', '.join(kinds)}), got "
            f"{[len(row) for row in axes]}; give one row a kind, and in it one axes for each of "
            f"{', '.join(ENTROPIES)}."
        )
    for kind, row in zip(kinds, axes):
        for statistic, ax in zip(ENTROPIES, row):
            statistic_panel(stats, statistic, kind=kind, roles=roles, names=names, ax=ax)
            ax.set_title(panel_title(capital(names[statistic]), kind, kinds))
    return figure_of(axes[0][0])
