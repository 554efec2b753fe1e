"""The charts of the pages, by form: each draws rows by the names of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from headscope.attention.head_id import head_label
from headscope.present.blocks import Row, has_value
from headscope.present.figures.axes import log_axis
from headscope.present.figures.head_points import EDGE_COLOR, draw_points, panel_column, side_by_side, write_beside
from headscope.present.figures.label_places import Box, WantedLabel, place_labels
from headscope.present.figures.style import INK, SOFT, figure_of, house_style, new_figure

_MOST_NAMED, _NAME_SIZE = 8, 8.0


@house_style()
def scatter(
    rows: Sequence[Row],
    *,
    kind: str,
    name: str,
    roles: pd.DataFrame | None,
    x: str,
    y: str,
    x_label: str,
    y_label: str,
    x_rule: float,
    y_rule: float,
    named: str,
) -> matplotlib.figure.Figure:
    """Draw a point for each head: a share on the x axis, a size on a logarithmic y axis, a dashed rule on each.

    Args:
        rows: heads with `head`, and the fields that follow.
        kind: `encoder`, `decoder` or `cross`.
        name: name of the chart, used in the page's ids.
        roles: `kind layer head role`, for colors and shapes.
        x, y: fields of the two axes.
        x_label, y_label: their labels.
        x_rule, y_rule: positions of the rules.
        named: field that is true for heads that are labeled, those furthest from the y rule first.
    """
    across, upward = (np.array([float(row[field]) for row in rows]) for field in (x, y))
    ax = new_figure(5.2, 3.6).subplots()
    ax.set_xlim(-0.02, 1.02)
    low = min(upward[upward > 0].min(initial=y_rule), y_rule)
    log_axis(ax, low / 1.5, max(upward.max(), 1.0) * 1.5, subs=(1.0, 2.0, 5.0))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    for draw, position in ((ax.axhline, y_rule), (ax.axvline, x_rule)):
        draw(position, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
    heads = [(row["head"].layer, row["head"].head) for row in rows]
    draw_points(ax, heads, across, upward, kind=kind, name=name, roles=roles, s=46.0, edgecolors=EDGE_COLOR)
    far = np.argsort(-np.abs(np.log(np.maximum(upward, 1e-9) / y_rule)), kind="stable")
    chosen = [int(index) for index in far if rows[index][named]][:_MOST_NAMED]
    _name_heads(ax, chosen, heads, np.column_stack([across, upward]), kind)
    return figure_of(ax)


def _name_heads(
    ax: Axes, chosen: Sequence[int], heads: Sequence[tuple[int, int]], points: NDArray[np.float64], kind: str
) -> None:
    """Write the names of some heads next to their points, where there is room."""
    figure = ax.get_figure(root=True)
    if not chosen or figure is None:
        return
    scale = 72 / figure.dpi
    on_page = (ax.transData.transform(points) - ax.bbox.min) * scale
    wide, high = np.asarray(ax.bbox.size) * scale
    wanted = [WantedLabel(head_label(*heads[index]), _NAME_SIZE, on_page[[index]]) for index in chosen]
    placed = place_labels(wanted, on_page, Box(0.0, 0.0, float(wide), float(high)), drop=True)
    for index, label, position in zip(chosen, wanted, placed, strict=True):
        if position is not None and position.lead is None:
            x, y = points[index].tolist()
            write_beside(ax, label, position, (x, y), on_page[index]).set_gid(f"name--{kind}--{label.text}")


@house_style()
def head_panels(
    rows: Sequence[Row], *, kind: str, name: str, roles: pd.DataFrame | None, panels: Mapping[str, str]
) -> matplotlib.figure.Figure:
    """Draw a panel for each field that any head has: a point for each head, layer after layer, at its value.

    Args:
        rows: heads with `head` and the fields.
        kind: `encoder`, `decoder` or `cross`.
        name: name of the chart, used in the page's ids.
        roles: `kind layer head role`, for colors and shapes.
        panels: title of each field's panel.
    """
    known = [field for field in panels if any(has_value(row.get(field)) for row in rows)]
    figure, axes = panel_column(len(known), height=1.4)
    for ax, field in zip(axes, known):
        shown = [row for row in rows if has_value(row.get(field))]
        heads = [(row["head"].layer, row["head"].head) for row in shown]
        x, y = side_by_side(ax, heads), np.array([row[field] for row in shown])
        draw_points(ax, heads, x, y, kind=kind, name=f"{name.removeprefix('figure-')}-{field}", roles=roles)
        ax.set_ylim(0, None)
        ax.set_title(panels[field], loc="left", fontsize=10, color=INK)
    return figure


CHARTS: Mapping[str, Callable[..., matplotlib.figure.Figure]] = MappingProxyType(
    {"scatter": scatter, "head_panels": head_panels}
)
"""The forms of charts by name."""
