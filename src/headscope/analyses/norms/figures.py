"""The figure of heads' activity: attention to sink tokens against the length of the output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from headscope.analyses.norms.accumulator import INACTIVE_BELOW
from headscope.analyses.norms.activity import SINK_THRESHOLD, Activity
from headscope.attention.head_id import head_anchor, head_label
from headscope.figures.finders import EDGE_COLOR
from headscope.figures.label_places import Box, WantedLabel, place_labels
from headscope.figures.series import HeadRoles, roles_of
from headscope.figures.style import INK, SOFT, figure_of, house_style, new_figure, role_color, role_outline

_NAMED, _SIZE = 8, 8.0


def activity_panel(
    heads: Sequence[Activity],
    *,
    kind: str,
    roles: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a point for each head: its attention to sink tokens to the right, the length of its output upwards.

    Heads on which the two disagree are named, those furthest from the lines first. A point links to its head's card.

    Args:
        heads: from `activities`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
        ax: where to draw; made when not given.
    """
    with house_style():
        if ax is None:
            ax = new_figure(5.2, 3.6).subplots()
        ax.set_xlim(-0.02, 1.02)
        values = np.array([head.relative.value for head in heads])
        ax.set_yscale("log")
        ax.set_ylim(
            min(values[values > 0].min(initial=INACTIVE_BELOW), INACTIVE_BELOW) / 1.5,
            max(values.max(), 1.0) * 1.5,
        )
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
        ax.set_xlabel("weight on the first token, separators and a learned sink")
        ax.set_ylabel("output, of the layer’s mean head")
        ax.axhline(INACTIVE_BELOW, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        ax.axvline(SINK_THRESHOLD, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        _draw(ax, heads, roles_of(roles, kind), kind)
        _name(ax, _disagreeing(heads)[:_NAMED], heads, kind)
        return figure_of(ax)


def _draw(ax: Axes, heads: Sequence[Activity], roles: HeadRoles, kind: str) -> None:
    roles_of_heads = np.array([roles.get((head.layer, head.head), "mixed") for head in heads], dtype=object)
    for role in sorted(set(roles_of_heads), key=lambda role: (-int((roles_of_heads == role).sum()), role)):
        heads_of_role = [
            head for head, role_of_head in zip(heads, roles_of_heads, strict=True) if role_of_head == role
        ]
        points = ax.scatter(
            [head.sink_share for head in heads_of_role], [head.relative.value for head in heads_of_role], s=46.0,
            marker=role_outline(role), facecolors=role_color(role), edgecolors=EDGE_COLOR, linewidths=0.0,
            zorder=3, clip_on=False,
        )  # fmt: skip
        points.set_paths([role_outline(role)])
        points.set_urls([f"#{head_anchor(kind, head.layer, head.head)}" for head in heads_of_role])
        points.set_gid(f"heads--{kind}--norms--{role}")


def _name(ax: Axes, named: Sequence[Activity], heads: Sequence[Activity], kind: str) -> None:
    """Write heads' names beside their points, as far as there is room."""
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
        WantedLabel(head_label(head.layer, head.head), _SIZE, named_points[[at]])
        for at, head in enumerate(named)
    ]
    placed = place_labels(labels, on_page(heads), Box(0.0, 0.0, float(wide), float(high)), drop=True)
    for head, name, point, label in zip(named, labels, named_points, placed, strict=True):
        if label is None or label.lead is not None:
            continue
        box = label.box
        across = {"left": box.left, "right": box.right}.get(label.side, (box.left + box.right) / 2)
        ax.annotate(
            name.text, (head.sink_share, head.relative.value),
            xytext=(across - point[0], (box.bottom + box.top) / 2 - point[1]),
            textcoords="offset points", fontsize=_SIZE, ha=label.side, va="center", color=INK, zorder=5,
            annotation_clip=False, gid=f"name--{kind}--{name.text}",
        )  # fmt: skip


def _disagreeing(heads: Sequence[Activity]) -> list[Activity]:
    """Return the heads that are inactive off the sink or active on it, those furthest from the threshold first."""
    disagreeing = [
        head for head in heads if head.inactive is not None and head.attends_to_sink != head.inactive
    ]
    return sorted(disagreeing, key=lambda head: -abs(np.log(max(head.relative.value, 1e-9) / INACTIVE_BELOW)))
