"""The figure of explanations: a stacked bar for each head, in one color per kind of feature, layer after layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from headscope.analyses.explanation.colors import COLORS, label_of
from headscope.analyses.explanation.looks import stacked
from headscope.analyses.explanation.tables import TEXT, TRAINED, WEIGHT
from headscope.figures.head_points import draw_points
from headscope.figures.paper import LEAST_POINTS, PAGE_INCHES, narrow, paper_width
from headscope.figures.style import LINE, house_style, new_figure
from headscope.palette import palette
from headscope.report_kit.report_parts import Context, Drawing
from headscope.report_kit.words import Words

_WIDTH, _ROW_INCHES, _OTHER_INCHES = 8.4, 1.25, 1.1
_BARS = 100
"""Most bars in a row, if a layer has fewer heads; in a paper the width of the page limits the number."""
_BARS_PER_INCH = 14
_BELOW = -0.13
"""The height of a head's point, below its bar."""


def draw_bars(about: Context, explanation: pd.DataFrame, groups: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the pages of the figure for each kind of attention with explained heads; a page has the layers that fit.

    Args:
        about: report context of the run.
        explanation, groups: tables of the run.
    """
    of_weight = [
        table[(table["corpus"] == TEXT) & (table["measure"] == WEIGHT) & (table["model"] == TRAINED)]
        for table in (explanation, groups)
    ]
    for kind in about.kinds:
        heads, parts = (table[table["kind"] == kind.name] for table in of_weight)
        if not heads["explained"].notna().any():
            continue
        width = paper_width() or _WIDTH
        bars = _BARS if paper_width() is None else int(width * _BARS_PER_INCH)
        layers = max(1, bars // kind.heads_per_layer)
        rows = [range(first, min(first + layers, kind.layers + 1)) for first in range(1, kind.layers + 1, layers)]
        most = int((PAGE_INCHES - 2 * _OTHER_INCHES) / _ROW_INCHES)
        for first in range(0, len(rows), most):
            yield (
                kind.ending,
                partial(
                    explained_figure,
                    stacked(parts),
                    rows[first : first + most],
                    kind.heads_per_layer,
                    kind=kind.name,
                    roles=about.roles,
                    words=about.words,
                ),
            )


def explained_figure(
    bars: dict[tuple[int, int], dict[str, float]],
    rows: Sequence[range],
    heads: int,
    *,
    kind: str,
    roles: pd.DataFrame | None,
    words: Words,
) -> Figure:
    """Draw a bar from 0 to 1 for each head, filled up to its explained share, and below it a point that opens its card.

    Args:
        bars: shares of each head by color.
        rows: layers of each row of the figure.
        heads: number of heads in a layer.
        kind: kind of attention.
        roles: table with the columns `kind layer head role`, for the points.
        words: names of the special tokens.
    """
    present = [name for name in COLORS if any(name in shares for shares in bars.values())]
    with house_style():
        key_inches = 0.22 * len(present) if narrow() else 0.0
        figure = new_figure(_WIDTH, _OTHER_INCHES + key_inches + _ROW_INCHES * len(rows))
        axes = figure.subplots(len(rows), 1, squeeze=False)[:, 0].tolist()
        for ax, layers in zip(axes, rows, strict=True):
            _row(ax, bars, layers, len(rows[0]), heads, kind, roles)
        axes[-1].set_xlabel("layer")
        fills = palette().roles
        handles = [Patch(facecolor=fills[name].fill.light, label=label_of(name, words)) for name in present]
        figure.legend(
            handles=handles, loc="outside upper left", ncols=1 if narrow() else 5, frameon=False,
            fontsize=LEAST_POINTS if narrow() else 9 if paper_width() is None else 7.5, handlelength=1.0,
            handleheight=1.0, columnspacing=1.2,
        )  # fmt: skip
        return figure


def _row(
    ax: Axes,
    bars: dict[tuple[int, int], dict[str, float]],
    layers: range,
    most_layers: int,
    heads: int,
    kind: str,
    roles: pd.DataFrame | None,
) -> None:
    positions = [(layer, head) for layer in layers for head in range(1, heads + 1)]
    at = np.array(positions, dtype=float)
    width = 0.86 / heads
    # A layer is 1 wide; its bars are centered in it side by side.
    x = at[:, 0] + 0.86 * ((at[:, 1] - 0.5) / heads - 0.5)
    low = np.zeros(len(positions))
    _boxes(ax, x, low, np.ones(len(positions)), width, LINE, f"whole--{kind}--{layers[0]}")
    for name in COLORS:
        shares = np.array([bars.get(position, {}).get(name, 0.0) for position in positions])
        drawn = np.flatnonzero(shares)
        if len(drawn):
            high = np.minimum(low + shares, 1.0)
            color = palette().roles[name].fill.light
            _boxes(ax, x[drawn], low[drawn], high[drawn], width, color, f"mark--{kind}--{layers[0]}--{name}")
            low = high
    size = max(3.0, min(26.0, (400 * width / most_layers) ** 1.6))
    draw_points(
        ax, positions, x, np.full(len(positions), _BELOW), kind=kind, name=f"explained-{layers[0]}", roles=roles, s=size
    )
    # All rows have the same scale, also the last one, which may have fewer layers.
    ax.set_xlim(layers[0] - 0.5, layers[0] - 0.5 + most_layers)
    ax.set_ylim(-0.24, 1.02)
    ax.set_xticks(list(layers))
    ax.set_yticks([0, 0.5, 1])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(labelsize=LEAST_POINTS if narrow() else 9)


def _boxes(ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, width: float, color: str, gid: str) -> None:
    """Draw boxes of one color, with a thin gap between neighbors."""
    left, right = x - 0.43 * width, x + 0.43 * width
    corners = np.stack([np.stack(corner, 1) for corner in ((left, low), (right, low), (right, high), (left, high))], 1)
    hollow = color == LINE
    ax.add_collection(
        PolyCollection(
            list(corners), facecolors="none" if hollow else color, edgecolors=color if hollow else "none",
            linewidths=0.6 if hollow else 0.0, zorder=1 if hollow else 2, gid=gid,
        )
    )  # fmt: skip
