"""Every head on two axes: weight on the sink, and the length of what it writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from headscope.analyses.norms.accumulator import RESTING
from headscope.analyses.norms.activity import ON_SINK, Activity
from headscope.attention.head_id import head_anchor, head_label
from headscope.figures.finders import EDGE_COLOR
from headscope.figures.label_places import Box, WantedLabel, place_labels
from headscope.figures.series import HeadRoles, roles_of
from headscope.figures.style import INK, SOFT, figure_of, house_style, new_figure, role_color, role_outline

_NAMED, _SIZE = 8, 8.0


def standing_panel(
    heads: Sequence[Activity],
    *,
    kind: str,
    roles: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a point for each head: to the right what rests on the sink, low what writes little.

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
        values = np.array([one.relative.value for one in heads])
        ax.set_yscale("log")
        ax.set_ylim(min(values[values > 0].min(initial=RESTING), RESTING) / 1.5, max(values.max(), 1.0) * 1.5)
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
        ax.set_xlabel("weight on the first token, separators and a learned sink")
        ax.set_ylabel("output, of the layer’s mean head")
        ax.axhline(RESTING, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        ax.axvline(ON_SINK, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        _draw(ax, heads, roles_of(roles, kind), kind)
        _name(ax, _surprising(heads)[:_NAMED], heads, kind)
        return figure_of(ax)


def _draw(ax: Axes, heads: Sequence[Activity], roles: HeadRoles, kind: str) -> None:
    worn = np.array([roles.get((one.layer, one.head), "mixed") for one in heads], dtype=object)
    for role in sorted(set(worn), key=lambda one: (-int((worn == one).sum()), one)):
        own = [one for one, its in zip(heads, worn, strict=True) if its == role]
        points = ax.scatter(
            [one.on_sink for one in own], [one.relative.value for one in own], s=46.0,
            marker=role_outline(role), facecolors=role_color(role), edgecolors=EDGE_COLOR, linewidths=0.0,
            zorder=3, clip_on=False,
        )  # fmt: skip
        points.set_paths([role_outline(role)])
        points.set_urls([f"#{head_anchor(kind, one.layer, one.head)}" for one in own])
        points.set_gid(f"heads--{kind}--norms--{role}")


def _name(ax: Axes, named: Sequence[Activity], heads: Sequence[Activity], kind: str) -> None:
    """Write heads' names beside their points, as far as there is room."""
    figure = ax.get_figure(root=True)
    if not named or figure is None:
        return
    points = 72 / figure.dpi

    def on_page(ones: Sequence[Activity]) -> NDArray[np.float64]:
        places = ax.transData.transform([(one.on_sink, one.relative.value) for one in ones])
        return np.asarray((places - ax.bbox.min) * points)

    own = on_page(named)
    wide, high = np.asarray(ax.bbox.size) * points
    wanted = [WantedLabel(head_label(one.layer, one.head), _SIZE, own[[at]]) for at, one in enumerate(named)]
    put = place_labels(wanted, on_page(heads), Box(0.0, 0.0, float(wide), float(high)), drop=True)
    for one, name, place, found in zip(named, wanted, own, put, strict=True):
        if found is None or found.lead is not None:
            continue
        box = found.box
        across = {"left": box.left, "right": box.right}.get(found.side, (box.left + box.right) / 2)
        ax.annotate(
            name.text, (one.on_sink, one.relative.value),
            xytext=(across - place[0], (box.bottom + box.top) / 2 - place[1]),
            textcoords="offset points", fontsize=_SIZE, ha=found.side, va="center", color=INK, zorder=5,
            annotation_clip=False, gid=f"name--{kind}--{name.text}",
        )  # fmt: skip


def _surprising(heads: Sequence[Activity]) -> list[Activity]:
    """Return the heads that weights and outputs judge otherwise, the clearest first."""
    apart = [one for one in heads if one.rests is not None and one.sinks != one.rests]
    return sorted(apart, key=lambda one: -abs(np.log(max(one.relative.value, 1e-9) / RESTING)))
