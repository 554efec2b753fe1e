"""A point for each head, in its role's color and shape, linked to its card; the heads of a layer side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.attention.head_id import head_anchor
from headscope.figures.style import LEAST_MARK, LINE, new_figure, role_color, role_outline

HeadRoles = Mapping[tuple[int, int], str]
"""Maps (layer, head), both 1-based, to the role."""
_WIDTH = 8.4


def roles_of(roles: pd.DataFrame | None, kind: str) -> dict[tuple[int, int], str]:
    """Return {(layer, head): role} of one kind from the table of roles (`kind layer head role`)."""
    if roles is None:
        return {}
    rows = roles[roles["kind"] == kind]
    return {(int(layer), int(head)): str(role) for layer, head, role in zip(rows["layer"], rows["head"], rows["role"])}


def by_frequency(shapes: NDArray[np.object_]) -> list[str]:
    """Return the heads' roles, the rarest last, so that rare roles are drawn on top."""
    return sorted(set(shapes), key=lambda shape: (-int((shapes == shape).sum()), shape))


def link_points(points: Collection, kind: str, name: str, role: str, heads: Iterable[Sequence[int]]) -> None:
    """Set the points' shape to their role's, their links to their heads' cards, and their id in the page."""
    points.set_paths([role_outline(role)])  # scatter rescales a path; the palette's shapes are in proportion
    points.set_urls([f"#{head_anchor(kind, layer, head)}" for layer, head in heads])
    points.set_gid(f"heads--{kind}--{name}--{role}")


def draw_points(
    ax: Axes,
    heads: Sequence[tuple[int, int]],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    kind: str,
    name: str,
    roles: pd.DataFrame | None,
    **style: Any,
) -> None:
    """Draw a point for each head at `x` and `y`, by default in the smallest size of a mark.

    Args:
        ax: axes to draw on.
        heads: layer and head, from 1.
        x, y: coordinates of the points.
        kind: kind of attention.
        name: name of the drawing, used in the page's ids.
        roles: `kind layer head role`, for colors and shapes; None if roles are unknown.
        style: style of the points, passed to `scatter`.
    """
    known = roles_of(roles, kind)
    role_of_head = np.array([known.get(head, "mixed") for head in heads], dtype=object)
    style = {"s": LEAST_MARK, **style}
    for role in by_frequency(role_of_head):
        these = np.flatnonzero(role_of_head == role)
        points = ax.scatter(
            x[these], y[these], marker=role_outline(role), facecolors=role_color(role), linewidths=0.0, zorder=3,
            clip_on=False, **style,
        )  # fmt: skip
        link_points(points, kind, name, role, (heads[int(index)] for index in these))


def panel_column(panels: int, *, height: float) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with one panel below another, each `height` inches high, over the layers of a model."""
    figure = new_figure(_WIDTH, 0.5 + height * max(1, panels))
    axes = figure.subplots(max(1, panels), 1, sharex=True, squeeze=False)[:, 0].tolist()
    axes[-1].set_xlabel("layer")
    return figure, axes


def side_by_side(ax: Axes, heads: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Label the layers on the x axis and separate them by lines; return the x position of each head."""
    layer, head = np.array(heads, dtype=float).T
    layers = int(layer.max())
    ax.set_xlim(0.5, layers + 0.5)
    ax.set_xticks(np.unique(np.linspace(1, layers, min(layers, 12)).round().astype(int)))
    for edge in np.arange(1, layers) + 0.5:
        ax.axvline(edge, color=LINE, linewidth=0.5, zorder=0)
    # A layer is 1 wide; its heads share the middle 0.8 of it.
    return np.asarray(layer + 0.8 * ((head - 0.5) / head.max() - 0.5))
