"""One statistic of every head by layer: a point per head, the layers' mean as a line with its interval as a band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from headscope.attention.head_id import head_label
from headscope.present.figures.head_points import (
    EDGE_COLOR,
    Finders,
    HeadRoles,
    by_frequency,
    link_points,
    marked,
    worn,
)
from headscope.present.figures.style import INK, SOFT, role_color, role_outline
from headscope.statistics.tables.frames import of_measure


@dataclass(frozen=True)
class Series:
    """The rows of one statistic and kind that have a value: `heads` by (layer, head), `means` by layer."""

    statistic: str
    kind: str
    heads: pd.DataFrame
    means: pd.DataFrame

    @property
    def empty(self) -> bool:
        """True if the statistic cannot occur here."""
        return self.heads.empty and self.means.empty

    @property
    def layers(self) -> int:
        """The deepest layer with a value."""
        return int(max([*self.heads["layer"], *self.means["layer"]], default=0))

    @property
    def last_mean(self) -> float:
        """The mean of the last layer, where its curve ends."""
        return float(self.means["value"].iloc[-1])

    @property
    def name_id(self) -> str:
        """The id in the page of the name at the end of its curve."""
        return f"name--{self.kind}--{self.statistic}"


def select(stats: pd.DataFrame, statistic: str, *, kind: str) -> Series:
    """Select one statistic of one kind, for attention weights, from `tables/stats.parquet`, without null values."""
    stats = of_measure(stats)
    rows = stats[(stats["statistic"] == statistic) & (stats["kind"] == kind)]
    rows = rows[rows["value"].notna()]
    mean = rows["head"].isna()
    heads = rows[~mean].sort_values(["layer", "head"]).reset_index(drop=True)
    means = rows[mean].sort_values("layer").reset_index(drop=True)
    return Series(statistic=statistic, kind=kind, heads=heads, means=means)


def places(series: Series, *, shift: float = 0.0, spread: float = 0.0) -> np.ndarray:
    """Return each head's x: its layer, plus `shift`, plus its position in head order within `spread` layers."""
    number = series.heads["head"].to_numpy(float)
    last = max(float(number.max(initial=1.0)), 1.0)
    within = (number - (last + 1) / 2) / max(last - 1, 1.0)
    return np.asarray(series.heads["layer"].to_numpy(float) + shift + spread * within)


def points_of(series: Series, *, shift: float = 0.0, spread: float = 0.0) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the position of each head's point in data coordinates: (layer, head) -> (x, y)."""
    heads = series.heads
    x = places(series, shift=shift, spread=spread)
    return {
        (int(layer), int(head)): (float(across), float(value))
        for layer, head, across, value in zip(heads["layer"], heads["head"], x, heads["value"])
    }


def draw_heads(
    ax: Axes,
    series: Series,
    *,
    color: str = INK,
    shape: str = "mixed",
    roles: HeadRoles | None = None,
    shift: float = 0.0,
    spread: float = 0.0,
    size: float = 46.0,
    finders: Finders | None = None,
) -> list[PathCollection]:
    """Draw a point for each head at its position and value, and return one collection per role.

    With `roles` a point has its role's color and shape, without them `color` and `shape`. A collection's gid is
    `heads--kind--statistic--role`, and each point links to `#kind-layer-head`, the head's card in a page. `finders` are
    larger, outlined, and drawn on top.
    """
    heads = series.heads
    finding = finders or {}
    names = list(zip(heads["layer"].astype(int), heads["head"].astype(int)))
    shapes = np.array(
        [shape if roles is None else worn(roles.get(name, "mixed"), finding.get(name)) for name in names], dtype=object
    )
    x, y = places(series, shift=shift, spread=spread), heads["value"].to_numpy(float)
    sizes, edges = marked(names, finding, size)
    drawn = []
    # Rare roles are drawn last, on top of the others.
    for role in by_frequency(shapes):
        # Heads that find a relation are drawn on top of the others.
        these = np.flatnonzero(shapes == role)
        these = these[np.argsort(edges[these], kind="stable")]
        points = ax.scatter(
            x[these], y[these], s=sizes[these], linewidths=edges[these].tolist(),
            edgecolors=EDGE_COLOR if finding else "none", zorder=3, clip_on=False, marker=role_outline(role),
            facecolors=color if roles is None else role_color(role), alpha=0.8 if len(names) > 200 else None,
        )  # fmt: skip
        link_points(points, series.kind, series.statistic, role, (names[index] for index in these))
        drawn.append(points)
    return drawn


def draw_means(ax: Axes, series: Series, *, color: str = INK, shift: float = 0.0) -> None:
    """Draw the layers' mean as a line, and its interval, if any, as a band."""
    means = series.means
    x = means["layer"].to_numpy(float) + shift
    gid = f"mean--{series.kind}--{series.statistic}"
    marker = "o" if len(x) == 1 else ""
    ax.plot(x, means["value"].to_numpy(float), color=color, linewidth=1.4, zorder=2, marker=marker, gid=gid)
    low, high = means["ci_low"].to_numpy(float), means["ci_high"].to_numpy(float)
    if np.isfinite(low).any():
        band = ax.fill_between(x, low, high, color=color, alpha=0.22, linewidth=0, zorder=1)
        band.set_gid(f"interval--{series.kind}--{series.statistic}")


def draw_uniform(ax: Axes, series: Series) -> None:
    """Draw the value under uniform attention as a dashed line."""
    means = series.means[series.means["uniform"].notna()]
    if means.empty:
        return
    x, y = means["layer"].to_numpy(float), means["uniform"].to_numpy(float)
    if len(x) == 1:  # one layer: a line needs some length to be visible
        x, y = np.array([x[0] - 0.4, x[0] + 0.4]), np.repeat(y, 2)
    gid = f"uniform--{series.kind}--{series.statistic}"
    ax.plot(x, y, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2, gid=gid)


def name_heads(ax: Axes, series: Series, *, bar: float, spread: float = 0.0) -> list[str]:
    """Write `1-3` next to the three highest points, if the names do not collide, and return the names.

    Points above one half are named; if there are none, only the highest, if it exceeds `bar` and twice uniform.
    """
    heads = series.heads
    floor = np.maximum(bar, 2 * heads["uniform"].fillna(0.0).to_numpy(float))
    value = heads["value"].to_numpy(float)
    most = 1
    if (value > 0.5).any():
        floor, most = np.maximum(floor, 0.5), 3
    height = max(ax.get_ylim()[1] - ax.get_ylim()[0], 1e-9)
    width = max(ax.get_xlim()[1] - ax.get_xlim()[0], 1e-9)
    placed: list[tuple[float, float]] = []
    names: list[str] = []
    across = places(series, spread=spread)
    for index in np.argsort(-value, kind="stable"):
        if len(names) == most or value[index] <= floor[index]:
            break
        x, y = float(across[index]), float(value[index])
        if any(abs(x - a) / width < 0.16 and abs(y - b) / height < 0.07 for a, b in placed):
            continue
        placed.append((x, y))
        name = head_label(int(heads["layer"][index]), int(heads["head"][index]))
        side, away = ("right", -7) if (x - ax.get_xlim()[0]) / width > 0.85 else ("left", 7)
        ax.annotate(
            name, (x, y), xytext=(away, 0), textcoords="offset points", ha=side, va="center", fontsize=9, color=INK,
            zorder=4,
        )  # fmt: skip
        names.append(name)
    return names
