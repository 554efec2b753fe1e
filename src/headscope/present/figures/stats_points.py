"""Figures 2 and 4 of the paper: attention to special tokens, punctuation and positions, and the entropy of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.attention.head_id import KINDS
from headscope.present.figures.axes import layer_axis, name_ends, say_absent, say_missing, share_axis, share_top
from headscope.present.figures.head_points import Finders, finders_of, name_finders
from headscope.present.figures.series import draw_heads, draw_means, points_of, select
from headscope.present.figures.statistic_panel import ENTROPIES, NAMES, panel_width, statistic_panel
from headscope.present.figures.style import across, figure_of, house_style, new_figure, role_color
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import STATISTICS, of_topic
from headscope.visible import capital

_INK_OF = {row.name: row.ink or row.name for row in STATISTICS.values()}
_SHAPE_OF = {row.name: row.shape or row.name for row in STATISTICS.values()}


@dataclass(frozen=True)
class Panel:
    """A panel of figure 2: its title and the topic of its statistics."""

    title: str
    topic: Topic

    @property
    def statistics(self) -> tuple[str, ...]:
        """The shares of the panel, which are also those of the report's section."""
        return of_topic(self.topic)


PANELS = (
    Panel("Special tokens and punctuation", "special"),
    Panel("The separator, from itself and from others", "noop"),
    Panel("Position", "position"),
)


def kinds_in(stats: pd.DataFrame) -> list[str]:
    """Return the kinds of attention in a table, encoder first."""
    present = set(stats["kind"].unique())
    return [kind for kind in KINDS if kind in present]


def panel_title(title: str, kind: str, kinds: Sequence[str]) -> str:
    """Return a panel's title, with its kind of attention if the figure has several."""
    return f"{title} · {kind}" if len(kinds) > 1 else title


def by_page(table: pd.DataFrame, *, each: float) -> list[tuple[str, pd.DataFrame]]:
    """Split a table of several kinds into figures with a column per kind, if the columns do not fit across the paper.

    Returns:
        The suffix of the file's name, and its rows; the first kind has no suffix.
    """
    kinds = kinds_in(table)
    if across(len(kinds), each=each) == len(kinds):
        return [("", table)]
    return [(f"-{kind}" if index else "", table[table["kind"] == kind]) for index, kind in enumerate(kinds)]


@house_style()
def stats_points(
    stats: pd.DataFrame,
    *,
    roles: pd.DataFrame | None = None,
    names: Mapping[str, str] = NAMES,
    axes: Sequence[Sequence[Axes]] | None = None,
) -> Figure:
    """Draw figure 2: special tokens above, `[SEP]` from itself and from others, then positions; one column per kind.

    Args:
        stats: `tables/stats.parquet`: fractions; rows without a head are the layers' means.
        roles: `kind layer head role finds`: heads that find a relation are larger, outlined, and labeled at the highest
            of their points if there is room; without it all heads look alike.
        names: names of the statistics, for a model whose special tokens are not `[CLS]` and `[SEP]`.
        axes: three rows of axes, one column for each kind in the table; created if None.

    Returns:
        The figure. Series are side by side within a layer; each is labeled at the end of its line. Statistics that
        cannot occur are omitted, with a note in the panel.

    Raises:
        ValueError: `axes` has another shape than three rows by the kinds.
    """
    kinds = kinds_in(stats)
    if axes is None:
        deepest = int(stats["layer"].max())
        width = min(max(0.42 * deepest + 2.2, 5.2), 12.0)
        figure = new_figure(width * len(kinds), 3.0 * len(PANELS))
        axes = figure.subplots(len(PANELS), len(kinds), squeeze=False).tolist()
    elif len(axes) != len(PANELS) or any(len(row) != len(kinds) for row in axes):
        raise ValueError(
            f"Expected {len(PANELS)} rows of {len(kinds)} axes ({', '.join(kinds)}), got "
            f"{[len(row) for row in axes]}; give one row a panel and one column a kind."
        )
    for panel, row in zip(PANELS, axes):
        for kind, ax in zip(kinds, row):
            ax.set_title(panel_title(panel.title, kind, kinds))
            finders = finders_of(roles, kind)
            _overlay(ax, stats, panel, kind=kind, names=names, finders=finders)
    return figure_of(axes[0][0])


def _overlay(
    ax: Axes, stats: pd.DataFrame, panel: Panel, *, kind: str, names: Mapping[str, str], finders: Finders
) -> None:
    every = [select(stats, statistic, kind=kind) for statistic in panel.statistics]
    present = [series for series in every if not series.empty]
    absent = [names[series.statistic] for series in every if series.empty and not STATISTICS[series.statistic].rare]
    if not present:
        say_absent(ax, f"{', '.join(absent)}: cannot occur here.")
        return
    share_axis(ax, share_top(*present))
    layers = max(series.layers for series in present)
    layer_axis(ax, layers)
    ax.set_ylabel("average attention")
    step = min(0.26, 0.8 / max(len(present) - 1, 1))  # keeps all series within their layer
    highest: dict[tuple[int, int], tuple[float, float]] = {}
    points: list[tuple[float, float]] = []
    for index, series in enumerate(present):
        shift = step * (index - (len(present) - 1) / 2)
        color = role_color(_INK_OF[series.statistic])
        draw_means(ax, series, color=color, shift=shift)
        shape = _SHAPE_OF[series.statistic]
        draw_heads(ax, series, color=color, shape=shape, shift=shift, size=36.0, finders=finders)
        for head, point in points_of(series, shift=shift).items():
            points.append(point)
            highest[head] = max(highest.get(head, point), point, key=lambda point: point[1])
    name_finders(ax, highest, finders, others=points)
    ends = [
        (series.last_mean, names[series.statistic], role_color(_INK_OF[series.statistic]), series.name_id)
        for series in present
    ]
    name_ends(ax, layers + 0.62, ends)
    if absent:
        say_missing(ax, absent)


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
