"""A point for each head, in its role's color and shape, linked to its card; heads that find a relation are named."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from numpy.typing import NDArray

from headscope.attention.head_id import head_anchor, head_label
from headscope.present.figures.label_places import Box, LabelPlace, WantedLabel, place_labels
from headscope.present.figures.style import INK, LEAST_MARK, LINE, label, new_figure, role_color, role_outline

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


LARGER = 2.0
"""Area of the mark, as a multiple of the area of other heads' marks."""
EDGE = 1.3
EDGE_COLOR = role_color("syntax")
MOST_NAMED = 8
_SIZE = 8.0
_LONGEST = 12
Finders = Mapping[tuple[int, int], str]
"""Maps (layer, head), both 1-based, to the text next to its mark: `3-1 obj`."""


def finder_name(layer: int, head: int, finds: Sequence[str]) -> str:
    """Return a head's name with the relation it finds: `8-10 dobj`, and the number of further relations."""
    more = f" +{len(finds) - 1}" if len(finds) > 1 else ""
    return f"{head_label(layer, head)} {label(finds[0], _LONGEST)}{more}"


def finders_of(roles: pd.DataFrame | None, kind: str) -> dict[tuple[int, int], str]:
    """Return the heads of a kind that find a relation, from the table of roles; empty if it has no `finds`.

    Args:
        roles: `kind layer head role`, and `finds`: a list of names for each head.
        kind: `encoder`, `decoder` or `cross`.
    """
    if roles is None or "finds" not in roles:
        return {}
    rows = roles[roles["kind"] == kind]
    names_of = {}
    for layer, head, finds in zip(rows["layer"], rows["head"], rows["finds"]):
        names = [str(relation) for relation in finds] if isinstance(finds, list | tuple | np.ndarray) else []
        if names:
            names_of[int(layer), int(head)] = finder_name(int(layer), int(head), names)
    return names_of


def worn(role: str, name: str | None) -> str:
    """Return the role that gives a head's mark its color and shape: for heads of mixed role, that of their finding.

    Args:
        role: role of the head.
        name: text next to its mark (`finder_name`); None if it finds nothing.
    """
    if role != "mixed" or name is None:
        return role
    return "coreference" if name.split(" ", 1)[1] == "coreference" else "syntax"


def marked(
    names: Sequence[Hashable], finders: Mapping[Any, str], size: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each head's mark: its area in square points, and the width of its edge."""
    finding = np.array([name in finders for name in names], dtype=bool)
    return np.where(finding, LARGER * size, size), np.where(finding, EDGE, 0.0)


def name_finders(
    ax: Axes,
    points: Mapping[tuple[int, int], tuple[float, float]],
    finders: Finders,
    *,
    others: Iterable[tuple[float, float]] = (),
) -> list[str]:
    """Write the names of heads that find a relation next to their points, if there is room, and return the names.

    Args:
        ax: axes to draw on, with limits set.
        points: position of each head, in data coordinates; labels avoid heads that find nothing, too.
        finders: names of the heads.
        others: further points that labels avoid.
    """
    named = [head for head in points if head in finders]
    figure = ax.get_figure(root=True)
    if not named or figure is None:
        return []
    wide, high = 72 * figure.get_size_inches() * np.array(ax.get_position().size)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    scale = np.array([wide / max(right - left, 1e-9), high / max(top - bottom, 1e-9)])

    def on_page(points: Iterable[tuple[float, float]]) -> NDArray[np.float64]:
        return np.asarray((np.array(list(points), dtype=np.float64).reshape(-1, 2) - [left, bottom]) * scale)

    offsets = on_page(points[head] for head in named)
    every = np.concatenate([on_page(points.values()), on_page(others)])
    # The highest point is named first.
    order = np.argsort(-offsets[:, 1], kind="stable")
    wanted = [WantedLabel(finders[named[index]], _SIZE, offsets[[index]]) for index in order]
    put = place_labels(wanted, every, Box(0.0, 0.0, float(wide), float(high)), reach=6.0, drop=True)
    written: list[str] = []
    for name, index, label_place in zip(wanted, order, put):
        if (
            label_place is None
            or label_place.lead is not None
            or label_place.box.covers(every)
            or len(written) == MOST_NAMED
        ):
            continue
        write_beside(ax, name, label_place, points[named[index]], offsets[index])
        written.append(name.text)
    return written


def write_beside(
    ax: Axes, name: WantedLabel, label_place: LabelPlace, point: tuple[float, float], on_page: NDArray[np.float64]
) -> Annotation:
    """Write a head's name next to its point, given in data coordinates and in points on the page."""
    x, y = label_place.anchor
    return ax.annotate(
        name.text, point, xytext=(x - on_page[0], y - on_page[1]), textcoords="offset points", fontsize=name.size,
        ha=label_place.side, va="center", color=INK, zorder=5, annotation_clip=False,
    )  # fmt: skip
