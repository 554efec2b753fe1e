"""The dendrogram of heads, with its cut into clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headscope.analyses.distances.clusters import Clusters, cluster
from headscope.analyses.distances.tables import matrix_of
from headscope.attention.head_id import head_label
from headscope.palette import palette
from headscope.present.figures.axes import say_absent
from headscope.present.figures.head_points import link_points
from headscope.present.figures.style import (
    INK,
    LEAST_MARK,
    LINE,
    PAGE_INCHES,
    SOFT,
    across,
    figure_of,
    house_style,
    new_figure,
    paper_width,
    role_color,
    role_outline,
)

WIDTH, LINE_HEIGHT = 6.4, 0.155
"""Width of the figure, and height of a head's line, in inches."""
PAPER_LINE = 0.11
"""Height of a head's line on paper, in inches."""
MOST_LABELED = 400
"""A tree of more heads has no names, and is not higher than this number of lines."""


@house_style()
def dendrogram(
    heads: pd.DataFrame, *, pairs: pd.DataFrame, kind: str, names: Mapping[str, str] | None = None
) -> Figure:
    """Draw the tree of one kind's heads: leaves on the left, each in its role's color and shape, clusters named.

    Args:
        heads: its heads of `tables/head_map.parquet`, by layer and head.
        pairs: `tables/head_distances.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        names: names of roles.

    Returns:
        The figure; across is the root of the divergence at which two groups of heads join (average linkage), and a
        dashed line is where the tree is cut into clusters.
    """
    each = LINE_HEIGHT if paper_width() is None else PAPER_LINE
    most = MOST_LABELED if paper_width() is None else int((PAGE_INCHES - 1.2) / PAPER_LINE)
    ax = new_figure(WIDTH, 0.8 + each * min(len(heads), most)).subplots()
    if len(heads) < 2:
        say_absent(ax, "A tree needs two heads.")
        return figure_of(ax)
    clusters = cluster(matrix_of(pairs, heads[["layer", "head"]].to_numpy(), kind=kind))
    _branches(ax, clusters)
    _leaves(ax, heads, clusters, kind, named=len(heads) <= most)
    _key(ax, heads, names or {})
    _cut(ax, clusters)
    return figure_of(ax)


def _branches(ax: Axes, clusters: Clusters) -> None:
    """Draw the joins, dark within a cluster and light between clusters."""
    from scipy.cluster import hierarchy

    joins: dict[str, Any] = hierarchy.dendrogram(clusters.tree, no_plot=True)
    # scipy puts leaves at 5, 15, 25 ...; here they are at 0, 1, 2 ... downwards.
    ups = (np.asarray(joins["icoord"]) - 5) / 10
    outs = np.asarray(joins["dcoord"])
    for within, color, width in ((True, INK, 1.0), (False, SOFT, 0.9)):
        these = (outs.max(1) <= clusters.height) == within
        lines = [np.column_stack(pair) for pair in zip(outs[these], ups[these])]
        ax.add_collection(
            LineCollection(lines, colors=color, linewidths=width, gid=f"joins--{'in' if within else 'out'}")
        )
    ax.set_xlim(0, 1.02 * float(max(outs.max(), 1e-9)))
    ax.set_ylim(len(clusters.order) - 0.5, -0.5)


def _leaves(ax: Axes, heads: pd.DataFrame, clusters: Clusters, kind: str, *, named: bool) -> None:
    ax.set_xlabel("root of the Jensen–Shannon divergence at which groups of heads join")
    ax.grid(axis="x", color=LINE)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    roles = heads["role"].fillna("mixed").to_numpy(dtype=object)
    line_of = np.empty(len(heads), dtype=int)
    line_of[clusters.order] = np.arange(len(heads))
    margin = ax.get_yaxis_transform()
    for role in dict.fromkeys(roles.tolist()):
        these = np.flatnonzero(roles == role)
        points = ax.scatter(
            np.full(len(these), -0.012), line_of[these], s=LEAST_MARK, linewidths=0.0, clip_on=False,
            marker=role_outline(role), color=role_color(role), transform=margin,
        )  # fmt: skip
        link_points(points, kind, "tree", role, heads.loc[these, ["layer", "head"]].to_numpy().tolist())
    if not named:
        return
    for number, (layer, head, role) in enumerate(zip(heads["layer"], heads["head"], roles)):
        ax.text(
            -0.03, line_of[number], head_label(layer, head), transform=margin, ha="right", va="center_baseline",
            fontsize=8, color=role_color(role), gid=f"mark--{head_label(layer, head)}",
        )  # fmt: skip


def _key(ax: Axes, heads: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Draw the legend of roles above the tree."""
    present = [role for role in palette().roles if (heads["role"] == role).any()]
    handles = [
        Line2D(
            [], [], linestyle="", marker=role_outline(role), markersize=6, markeredgewidth=0, color=role_color(role),
            label=names.get(role, palette().roles[role].label),
        )
        for role in present
    ]  # fmt: skip
    if handles:
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(-0.06, 1.0), ncols=across(4, each=1.6), frameon=False,
            fontsize=8.5, handletextpad=0.1, columnspacing=1.4, labelcolor="linecolor", borderaxespad=0.4,
        )  # fmt: skip


def _cut(ax: Axes, clusters: Clusters) -> None:
    """Draw the cut, and a bracket with number and size at the right of each cluster."""
    if clusters.number < 2:
        return
    ax.axvline(clusters.height, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), gid="cut")
    in_order = clusters.labels[clusters.order]
    margin = ax.get_yaxis_transform()
    for number in range(1, clusters.number + 1):
        lines = np.flatnonzero(in_order == number)
        top, bottom = lines.min() - 0.35, lines.max() + 0.35
        ax.plot([1.012, 1.012], [top, bottom], color=SOFT, linewidth=1.4, clip_on=False, transform=margin,
                gid=f"cluster--{number}")  # fmt: skip
        ax.text(
            1.025, (top + bottom) / 2, f"cluster {number}" + (f" · {len(lines)} heads" if len(lines) > 1 else ""),
            transform=margin, ha="left", va="center", fontsize=8, color=SOFT,
        )  # fmt: skip
