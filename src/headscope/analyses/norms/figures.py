"""The figure of heads' activity: attention to sink tokens against output norm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.activity import SINK_THRESHOLD, Activity
from headscope.attention.head_id import head_label
from headscope.figures.axes import log_axis
from headscope.figures.finders import EDGE_COLOR, write_beside
from headscope.figures.head_points import draw_points
from headscope.figures.label_places import Box, WantedLabel, place_labels
from headscope.figures.style import SOFT, figure_of, house_style, new_figure

_NAMED, _SIZE = 8, 8.0


@house_style()
def activity_panel(heads: Sequence[Activity], *, kind: str, roles: pd.DataFrame | None = None) -> Figure:
    """Draw a point for each head: attention to sink tokens on the x axis, output norm on the y axis.

    Heads for which the two disagree are labeled, those furthest from the threshold first. A point links to its head's
    card.

    Args:
        heads: result of `activities`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    ax = new_figure(5.2, 3.6).subplots()
    ax.set_xlim(-0.02, 1.02)
    values = np.array([head.relative.value for head in heads])
    low = min(values[values > 0].min(initial=INACTIVE_BELOW), INACTIVE_BELOW)
    log_axis(ax, low / 1.5, max(values.max(), 1.0) * 1.5, subs=(1.0, 2.0, 5.0))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    ax.set_xlabel("weight on the first token, separators and a learned sink")
    ax.set_ylabel("output, of the layer’s mean head")
    ax.axhline(INACTIVE_BELOW, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
    ax.axvline(SINK_THRESHOLD, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
    draw_points(
        ax, [(head.layer, head.head) for head in heads], np.array([head.sink_share for head in heads]), values,
        kind=kind, name="norms", roles=roles, s=46.0, edgecolors=EDGE_COLOR,
    )  # fmt: skip
    _name(ax, _disagreeing(heads)[:_NAMED], heads, kind)
    return figure_of(ax)


def _name(ax: Axes, named: Sequence[Activity], heads: Sequence[Activity], kind: str) -> None:
    """Write heads' names next to their points, where there is room."""
    figure = ax.get_figure(root=True)
    if not named or figure is None:
        return
    points = 72 / figure.dpi

    def on_page(activities: Sequence[Activity]) -> NDArray[np.float64]:
        places = ax.transData.transform([(head.sink_share, head.relative.value) for head in activities])
        return np.asarray((places - ax.bbox.min) * points)

    named_points = on_page(named)
    wide, high = np.asarray(ax.bbox.size) * points
    labels = [
        WantedLabel(head_label(head.layer, head.head), _SIZE, named_points[[at]]) for at, head in enumerate(named)
    ]
    placed = place_labels(labels, on_page(heads), Box(0.0, 0.0, float(wide), float(high)), drop=True)
    for head, name, point, label in zip(named, labels, named_points, placed, strict=True):
        if label is None or label.lead is not None:
            continue
        written = write_beside(ax, name, label, (head.sink_share, head.relative.value), point)
        written.set_gid(f"name--{kind}--{name.text}")


def _disagreeing(heads: Sequence[Activity]) -> list[Activity]:
    """Return the heads that are inactive off the sink or active on it, those furthest from the threshold first."""
    disagreeing = [head for head in heads if head.inactive is not None and head.attends_to_sink != head.inactive]
    return sorted(disagreeing, key=lambda head: -abs(np.log(max(head.relative.value, 1e-9) / INACTIVE_BELOW)))
