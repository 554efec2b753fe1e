"""Heads in the plane: limits, a scale bar in place of axes, and coordinates on the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from headscope.figures.axes import hide_spines
from headscope.figures.label_places import Box
from headscope.figures.paper import across, panel_inches, paper_width
from headscope.figures.style import SOFT

SIDE = 4.3
"""Width of a panel in inches, where the width of the figure is not fixed."""
_POINTS = 72.0


def heads_of_kind(table: pd.DataFrame, kind: str, *, where: str) -> pd.DataFrame:
    """Return the rows of `tables/head_map.parquet` of one kind, by layer and head.

    Raises:
        ValueError: the table has no head of this kind; `where` ends the description of the expected heads.
    """
    heads = table[table["kind"] == kind]
    if heads.empty:
        present = ", ".join(str(name) for name in table["kind"].unique()) or "none"
        raise ValueError(f"Expected {kind} heads {where}, got {present}; give a kind that the table has.")
    return heads.sort_values(["layer", "head"]).reset_index(drop=True)


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
