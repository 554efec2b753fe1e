"""The tree of heads: which are joined with which, how far apart they are, and where the tree is cut."""

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
from headscope.analyses.distances.pair_table import matrix_of
from headscope.attention.head_id import head_anchor, head_label
from headscope.figures.axes import say_absent
from headscope.figures.paper import PAGE_INCHES, across, paper_width
from headscope.figures.style import (
    INK,
    LINE,
    SOFT,
    figure_of,
    house_style,
    new_figure,
    role_color,
    role_outline,
)
from headscope.palette import palette

WIDTH, LINE_HEIGHT = 6.4, 0.155
"""Inches: of the figure, and of a head's line."""
PAPER_LINE = 0.11
"""Inches of a head's line on paper."""
MOST_LABELED = 400
"""Beyond so many heads the tree is drawn without their names, and no higher than this many lines."""


def dendrogram(
    pairs: pd.DataFrame,
    table: pd.DataFrame,
    *,
    kind: str,
    names: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the tree of one kind's heads: leaves on the left, each in its role's color and shape, clusters named.

    Args:
        pairs: `tables/head_distances.parquet`.
        table: `tables/head_map.parquet`, for heads and roles.
        kind: `encoder`, `decoder` or `cross`.
        names: what roles are called.
        ax: where to draw; made when not given.

    Returns:
        The figure; across is the root of the divergence at which two groups of heads join (average linkage), and a
        dashed line is where the tree is cut into clusters.

    Raises:
        ValueError: the tables have no head of this kind.
    """
    heads = table[table["kind"] == kind].sort_values(["layer", "head"]).reset_index(drop=True)
    if heads.empty:
        present = ", ".join(str(one) for one in table["kind"].unique()) or "none"
        raise ValueError(f"Expected {kind} heads for a tree, got {present}; give a kind that the table has.")
    places = [(int(layer), int(head)) for layer, head in heads[["layer", "head"]].to_numpy()]
    each = LINE_HEIGHT if paper_width() is None else PAPER_LINE
    most = MOST_LABELED if paper_width() is None else int((PAGE_INCHES - 1.2) / PAPER_LINE)
    shown = min(len(places), most)
    with house_style():
        if ax is None:
            ax = new_figure(WIDTH, 0.8 + each * shown).subplots()
        if len(places) < 2:
            say_absent(ax, "A tree needs two heads.")
            return figure_of(ax)
        found = cluster(matrix_of(pairs, places, kind=kind))
        _branches(ax, found)
        _leaves(ax, heads, found, kind, named=len(places) <= most)
        _key(ax, heads, names or {})
        _cut(ax, found)
        return figure_of(ax)


def _branches(ax: Axes, found: Clusters) -> None:
    """Draw the joins; those within a cluster in ink, those between clusters soft."""
    drawn = _layout(found.tree)
    # scipy puts leaves at 5, 15, 25 ...; here they are at 0, 1, 2 ... downwards.
    ups = (np.asarray(drawn["icoord"]) - 5) / 10
    outs = np.asarray(drawn["dcoord"])
    for within, color, width in ((True, INK, 1.0), (False, SOFT, 0.9)):
        these = (outs.max(1) <= found.height) == within
        lines = [np.column_stack(pair) for pair in zip(outs[these], ups[these])]
        ax.add_collection(
            LineCollection(lines, colors=color, linewidths=width, gid=f"joins--{'in' if within else 'out'}")
        )
    ax.set_xlim(0, 1.02 * float(max(outs.max(), 1e-9)))
    ax.set_ylim(len(found.order) - 0.5, -0.5)


def _layout(tree: np.ndarray) -> dict[str, Any]:
    from scipy.cluster import hierarchy

    drawn: dict[str, Any] = hierarchy.dendrogram(tree, no_plot=True)
    return drawn


def _leaves(ax: Axes, heads: pd.DataFrame, found: Clusters, kind: str, *, named: bool) -> None:
    ax.set_xlabel("root of the Jensen–Shannon divergence at which groups of heads join")
    ax.grid(axis="x", color=LINE)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    roles = heads["role"].fillna("mixed").to_numpy(dtype=object)
    place_of = np.empty(len(heads), dtype=int)
    place_of[found.order] = np.arange(len(heads))
    margin = ax.get_yaxis_transform()
    for role in dict.fromkeys(roles.tolist()):
        these = np.flatnonzero(roles == role)
        points = ax.scatter(
            np.full(len(these), -0.012), place_of[these], s=34.0 if named else 8.0, linewidths=0.0, clip_on=False,
            marker=role_outline(role), color=role_color(role), transform=margin,
        )  # fmt: skip
        points.set_paths([role_outline(role)])
        points.set_urls(
            [f"#{head_anchor(kind, a, b)}" for a, b in heads.loc[these, ["layer", "head"]].to_numpy()]
        )
        points.set_gid(f"heads--{kind}--tree--{role}")
    if not named:
        return
    for number, (layer, head, role) in enumerate(zip(heads["layer"], heads["head"], roles)):
        ax.text(
            -0.03, place_of[number], head_label(layer, head), transform=margin, ha="right", va="center_baseline",
            fontsize=8, color=role_color(role), gid=f"mark--{head_label(layer, head)}",
        )  # fmt: skip


def _key(ax: Axes, heads: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Write above the tree which role has which color and shape."""
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


def _cut(ax: Axes, found: Clusters) -> None:
    """Draw where the tree is cut, and bracket each cluster with its number and size at the right."""
    if found.number < 2:
        return
    ax.axvline(found.height, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), gid="cut")
    in_order = found.labels[found.order]
    margin = ax.get_yaxis_transform()
    for number in range(1, found.number + 1):
        own = np.flatnonzero(in_order == number)
        top, bottom = own.min() - 0.35, own.max() + 0.35
        ax.plot([1.012, 1.012], [top, bottom], color=SOFT, linewidth=1.4, clip_on=False, transform=margin,
                gid=f"cluster--{number}")  # fmt: skip
        ax.text(
            1.025, (top + bottom) / 2, f"cluster {number}" + (f" · {len(own)} heads" if len(own) > 1 else ""),
            transform=margin, ha="left", va="center", fontsize=8, color=SOFT,
        )  # fmt: skip
