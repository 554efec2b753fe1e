"""Figure 6 of the paper: heads as points at distances that represent divergences, colored by role and by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.attention.head_id import head_anchor, head_label
from headscope.palette import palette
from headscope.present.figures.axes import hide_spines, say_absent
from headscope.present.figures.head_points import EDGE_COLOR, finder_name, link_points, marked, worn
from headscope.present.figures.label_places import Box, LabelPlace, WantedLabel, place_labels
from headscope.present.figures.style import (
    INK,
    LEAST_MARK,
    LEAST_POINTS,
    SOFT,
    TICK,
    across,
    figure_of,
    house_style,
    layer_color,
    new_figure,
    on_layer,
    panel_inches,
    paper_width,
    role_color,
    role_outline,
)
from headscope.statistics.roles import ROLES

COLORINGS = ("role", "layer")
LEAST_ON_PAGE = 8.0
"""Smallest text size in points of a figure that is not for a paper."""
NUMBERED = 100
"""Up to this number of heads, a mark shows its layer's number."""
MOST_NAMED = 10
SIDE = 4.3
"""Width of a panel in inches, where the width of the figure is not fixed."""
_POINTS = 72.0


@house_style()
def head_map(
    heads: pd.DataFrame, *, kind: str, stress: float | None = None, names: Mapping[str, str] | None = None
) -> Figure:
    """Draw figure 6 of one kind: by role on the left, by layer on the right.

    Args:
        heads: its heads of `tables/head_map.parquet`, by layer and head.
        kind: `encoder`, `decoder` or `cross`.
        stress: stress of the map, written below it.
        names: names of roles, for a model whose special tokens are not `[CLS]` and `[SEP]`.
    """
    columns = across(len(COLORINGS), each=2.9)
    lines = len(COLORINGS) // columns
    below = 0.0 if stress is None else 0.25 * lines
    figure = new_figure(2 * SIDE + 0.2, lines * (height_of(heads) + 0.45) + below)
    for coloring, ax in zip(COLORINGS, figure.subplots(lines, columns, squeeze=False).ravel()):
        map_panel(heads, kind=kind, coloring=coloring, names=names, ax=ax)
    if stress is not None:
        figure.supxlabel(
            f"distances in the plane represent divergences in nats, with a stress of {stress:.2f} (0 is exact)",
            fontsize=9, color=SOFT, x=0.01, ha="left",
        )  # fmt: skip
    return figure


@house_style()
def map_panel(
    heads: pd.DataFrame, *, kind: str, coloring: str, names: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Figure:
    """Draw one panel of figure 6.

    By `role` a head has its role's color and shape; role names and the names of heads that find something are written
    next to their marks. By `layer` a head is a disc in its layer's color with the layer's number.

    Args:
        heads: its heads of `tables/head_map.parquet`, by layer and head.
        kind: `encoder`, `decoder` or `cross`.
        coloring: `role` or `layer`.
        names: names of roles.
        ax: axes to draw on; created when not given.
    """
    ax = ax or new_figure(SIDE, height_of(heads) + 0.45).subplots()
    ax.set_title(f"By {coloring}")
    if coloring == "role" and heads["role"].isna().all():
        say_absent(ax, "Roles need the statistics of the same run.")
        return figure_of(ax)
    plane = lay_out(ax, heads)
    if coloring == "role":
        _by_role(ax, heads, kind, plane, dict(names or {}))
    else:
        _by_layer(ax, heads, kind, plane)
    return figure_of(ax)


def _by_role(ax: Axes, heads: pd.DataFrame, kind: str, plane: Plane, names: dict[str, str]) -> None:
    finders = _finders(heads)
    called_by = dict(finders)
    known_roles = heads["role"].fillna("mixed").tolist()
    roles = np.array([worn(role, called_by.get(index)) for index, role in enumerate(known_roles)], dtype=object)
    marks = plane.points(heads)
    size = mark_size(len(heads))
    present = [role for role in ROLES if (roles == role).any()]
    present += sorted({str(role) for role in roles} - set(ROLES))
    # The rarest role is drawn last, on top of the others, and named first.
    by_size = sorted(present, key=lambda role: -int((roles == role).sum()))
    sizes, edges = marked(range(len(heads)), called_by, size)
    for role in by_size:
        these = np.flatnonzero(roles == role)
        these = these[np.argsort(edges[these], kind="stable")]
        points = ax.scatter(
            heads["x"][these], heads["y"][these], s=sizes[these], linewidths=edges[these].tolist(),
            edgecolors=EDGE_COLOR if finders else "none", zorder=3, clip_on=False, marker=role_outline(role),
            facecolors=role_color(role),
            alpha=0.8 if len(heads) > NUMBERED else None,
        )  # fmt: skip
        link_points(points, kind, "map", role, heads.loc[these, ["layer", "head"]].to_numpy().tolist())
    called = {role: names.get(role) or _called(role) for role in present}
    finding = [(WantedLabel(text, 8.5, marks[[index]]), INK, "finder") for index, text in finders[:MOST_NAMED]]
    meaning = [
        (WantedLabel(called[role], 9.0, _central(marks, roles == role)), role_color(role), "name")
        for role in reversed(by_size)
    ]
    # Names of heads that find something are placed first; on paper, where room is short, names of roles are.
    short = paper_width() is not None
    wanted = meaning + finding if short else finding + meaning
    label_places = place_labels([name for name, _, _ in wanted], marks, plane.box, reach=6.0)
    for (name, color, sort), label_place in zip(wanted, label_places):
        if label_place is not None and not (short and sort == "finder" and label_place.box.covers(marks)):
            _draw_label(ax, plane, name, label_place, color, sort=sort)


def _by_layer(ax: Axes, heads: pd.DataFrame, kind: str, plane: Plane) -> None:
    layers = int(heads["layer"].max())
    size = 1.25 * mark_size(len(heads))
    number = max(0.68 * size**0.5, 0.0 if paper_width() else LEAST_ON_PAGE)
    if len(heads) <= NUMBERED and (paper_width() is None or number >= LEAST_POINTS - 0.5):
        # Discs are drawn one at a time, so that a disc also covers the number of a disc below it.
        for index, (_, point) in enumerate(heads.groupby(["layer", "head"], sort=False)):
            order = 3 + index / len(heads)
            _discs(ax, point, kind, layers, size, order)
            layer, head = int(point["layer"].iloc[0]), int(point["head"].iloc[0])
            ax.text(
                point["x"].iloc[0], point["y"].iloc[0], f"{layer}", ha="center", va="center_baseline",
                fontsize=number, color=on_layer(layer_color(layer, layers)), zorder=order,
                gid=f"mark--{head_label(layer, head)}",
            )  # fmt: skip
        return
    _discs(ax, heads, kind, layers, size, 3.0)
    marks, layer_of_head = plane.points(heads), heads["layer"].to_numpy()
    wanted = [
        WantedLabel(f"layer {layer}", 8.0, _central(marks, layer_of_head == layer))
        for layer in sorted(set(layer_of_head.tolist()))
    ]
    for name, label_place in zip(wanted, place_labels(wanted, marks, plane.box)):
        if label_place is not None:
            _draw_label(ax, plane, name, label_place, INK, sort="finder")


def _discs(ax: Axes, heads: pd.DataFrame, kind: str, layers: int, size: float, order: float) -> None:
    names = [head_anchor(kind, layer, head) for layer, head in heads[["layer", "head"]].to_numpy()]
    points = ax.scatter(
        heads["x"], heads["y"], s=size, linewidths=0.6, edgecolors=TICK, zorder=order, clip_on=False,
        facecolors=[layer_color(int(layer), layers) for layer in heads["layer"]],
    )  # fmt: skip
    points.set_urls([f"#{name}" for name in names])
    points.set_gid(f"heads--{kind}--map--layer" + (f"-{names[0]}" if len(names) == 1 else ""))


def mark_size(heads: int) -> float:
    """Return a mark's size in square points; with more heads marks are smaller, so that they do not overlap."""
    return float(np.clip(80.0 * 72 / heads, LEAST_MARK, 80.0))


def _called(role: str) -> str:
    style = palette().roles.get(role)
    return style.label if style is not None else role


def _central(marks: np.ndarray, these: np.ndarray) -> np.ndarray:
    """Return at most six marks of a group, nearest to its median first."""
    group = marks[these]
    middle = np.median(group, axis=0)
    return np.asarray(group[np.argsort(((group - middle) ** 2).sum(1), kind="stable")][:6])


def _finders(heads: pd.DataFrame) -> list[tuple[int, str]]:
    """Return labels of the heads that find something: `8-10 dobj`, with the number of further relations."""
    finders = []
    for index, (layer, head, finds) in enumerate(zip(heads["layer"], heads["head"], heads["finds"])):
        names = str(finds).split(",") if isinstance(finds, str) and finds else []
        if names:
            finders.append((len(names), index, finder_name(int(layer), int(head), names)))
    finders.sort(key=lambda finder: (-finder[0], finder[1]))
    return [(index, text) for _, index, text in finders]


def _draw_label(ax: Axes, plane: Plane, name: WantedLabel, label_place: LabelPlace, color: str, *, sort: str) -> None:
    """Draw a name and the line to its mark; names of the sort `finder` may be removed later, with their lines."""
    x, y = plane.back(*label_place.anchor)
    if label_place.lead is not None:
        ends = [plane.back(*label_place.lead[:2]), plane.back(*label_place.lead[2:])]
        ax.plot(*zip(*ends), color=SOFT, linewidth=0.7, zorder=2.5, clip_on=False, gid=f"lead--{name.text}")
    ax.text(
        x, y, name.text, fontsize=name.size, color=color, ha=label_place.side, va="center", zorder=5, clip_on=False,
        gid=f"{sort}--{name.text}",
    )  # fmt: skip


def side() -> float:
    """Return the width of a panel in inches; on paper there are two, side by side or one above the other."""
    return panel_inches(across(2, each=2.9), free=SIDE) - (0.1 if paper_width() else 0.0)


@dataclass(frozen=True)
class Plane:
    """The transformation from coordinates in nats to points on the page."""

    left: float
    bottom: float
    scale: float
    box: Box

    def points(self, heads: pd.DataFrame) -> np.ndarray:
        """Return the heads' coordinates on the page, `[head, 2]` in points."""
        xy = heads[["x", "y"]].to_numpy(dtype=float)
        return np.asarray((xy - [self.left, self.bottom]) * self.scale)

    def back(self, x: float, y: float) -> tuple[float, float]:
        """Return coordinates in the plane from coordinates on the page."""
        return self.left + x / self.scale, self.bottom + y / self.scale


def spans(heads: pd.DataFrame) -> tuple[float, float]:
    """Return the width and height of the panel in nats, with a margin for names."""
    wide, high = 1.16 * float(np.ptp(heads["x"])), 1.16 * float(np.ptp(heads["y"]))
    wide = max(wide, high / 1.2) or 1.0
    return wide, max(high, 0.6 * wide)


def height_of(heads: pd.DataFrame) -> float:
    """Return the height of a panel in inches."""
    wide, high = spans(heads)
    return side() * high / wide


def lay_out(ax: Axes, heads: pd.DataFrame) -> Plane:
    """Set the limits with equal scales, and draw a scale bar of a round length in place of axes."""
    wide, high = spans(heads)
    left = float(heads["x"].min() + heads["x"].max() - wide) / 2
    bottom = float(heads["y"].min() + heads["y"].max() - high) / 2
    ax.set_xlim(left, left + wide)
    ax.set_ylim(bottom, bottom + high)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    hide_spines(ax)
    scale = _POINTS * side() / wide
    length = _round_length(wide / 4)
    y = bottom - 0.02 * high
    ax.plot([left, left + length], [y, y], color=SOFT, linewidth=1.2, clip_on=False, gid="rule")
    ax.annotate(
        f"{length:g} nats", (left + length, y), xytext=(5, 0), textcoords="offset points", ha="left", va="center",
        fontsize=8, color=SOFT, annotation_clip=False,
    )  # fmt: skip
    return Plane(left, bottom, scale, Box(-4.0, 0.0, wide * scale + 4.0, high * scale))


def _round_length(most: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is at most `most`."""
    power = 10.0 ** np.floor(np.log10(most))
    return float(max(step * power for step in (1, 2, 5) if step * power <= most * (1 + 1e-9)))
