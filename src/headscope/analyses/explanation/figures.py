"""The figure of explanations: a stacked bar for each head, in one color per kind of feature, layer after layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from headscope.analyses.explanation.looks import COLORS, WHAT_ATTENDS, rows_of, stacked
from headscope.analyses.explanation.tables import EXPLANATION_GROUPS, TRAINED
from headscope.figures.head_points import draw_points
from headscope.figures.style import LEAST_POINTS, LINE, PAGE_INCHES, house_style, narrow, new_figure, paper_width
from headscope.palette import palette
from headscope.report_kit.head_functions import LOOKS
from headscope.report_kit.kinds import Kind
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure
from headscope.views.markup import Html, el

_WIDTH, _ROW_INCHES, _OTHER_INCHES = 8.4, 1.25, 1.1
_BARS = 100
"""Most bars in a row, if a layer has fewer heads; in a paper the width of the page limits the number."""
_BARS_PER_INCH = 14
_BELOW = -0.13
"""The height of a head's point, below its bar."""
_LABELS: Mapping[str, str] = {
    "cls": "{cls}", "syntax": "syntax", "coreference": "coreference", WHAT_ATTENDS: "varies with the attending token"
}  # fmt: skip
Bars = Mapping[tuple[int, int], Mapping[str, float]]
"""The shares of each head by color."""


def draw_bars(about: Context, explanation: pd.DataFrame, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the pages of the figure for each kind of attention with explained heads; a page has the layers that fit."""
    width = paper_width()
    for kind in about.kinds:
        if not rows_of(about.run, kind, model=TRAINED)["explained"].notna().any():
            continue
        bars = stacked(rows_of(about.run, kind, EXPLANATION_GROUPS, model=TRAINED))
        layers = max(1, (int(width * _BARS_PER_INCH) if width else _BARS) // kind.heads_per_layer)
        rows = [range(first, min(first + layers, kind.layers + 1)) for first in range(1, kind.layers + 1, layers)]
        most = int((PAGE_INCHES - 2 * _OTHER_INCHES) / _ROW_INCHES)
        for first in range(0, len(rows), most):
            yield kind.ending, partial(_explained_figure, about, kind, bars, rows[first : first + most])


FIGURE = Figure(name="figure-explanation", tables=("explanation", "explanation_groups"), draw=draw_bars)


def explained_bars(about: Context, kind: Kind) -> Html | None:
    """Place the figure of a kind of attention in the page; None if it has no explained heads."""
    label = f"What explains each {kind.name} head, as a stacked bar; the table below has its numbers."
    pictures = placed(about, FIGURE, label, ending=kind.ending)
    return el("div", pictures, class_="panels") if pictures else None


@house_style()
def _explained_figure(about: Context, kind: Kind, bars: Bars, rows: Sequence[range]) -> matplotlib.figure.Figure:
    """Draw a bar from 0 to 1 for each head, filled up to its explained share, and below it a point that opens its card.

    Args:
        about: report context of the run.
        kind: kind of attention.
        bars: shares of each head by color.
        rows: layers of each row of the figure.
    """
    present = [name for name in COLORS if any(name in shares for shares in bars.values())]
    key_inches = 0.22 * len(present) if narrow() else 0.0
    figure = new_figure(_WIDTH, _OTHER_INCHES + key_inches + _ROW_INCHES * len(rows))
    axes = figure.subplots(len(rows), 1, squeeze=False)[:, 0].tolist()
    for ax, layers in zip(axes, rows, strict=True):
        _row(ax, about, kind, bars, layers, len(rows[0]))
    axes[-1].set_xlabel("layer")
    labels = [about.words.fill(_LABELS.get(name) or LOOKS[name].label) for name in present]
    handles = [Patch(facecolor=_fill(name), label=label) for name, label in zip(present, labels, strict=True)]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=1 if narrow() else 4, frameon=False,
        fontsize=LEAST_POINTS if narrow() else 9 if paper_width() is None else 7.5, handlelength=1.0,
        handleheight=1.0, columnspacing=1.2,
    )  # fmt: skip
    return figure


def _fill(name: str) -> str:
    return palette().roles[name].fill.light


def _row(ax: Axes, about: Context, kind: Kind, bars: Bars, layers: range, most_layers: int) -> None:
    heads = [(layer, head) for layer in layers for head in range(1, kind.heads_per_layer + 1)]
    at = np.array(heads, dtype=float)
    width = 0.86 / kind.heads_per_layer
    # A layer is 1 wide; its bars are centered in it side by side.
    x = at[:, 0] + 0.86 * ((at[:, 1] - 0.5) / kind.heads_per_layer - 0.5)
    low = np.zeros(len(heads))
    _boxes(ax, x, low, np.ones(len(heads)), width, LINE, f"whole--{kind.name}--{layers[0]}")
    for name in COLORS:
        shares = np.array([bars.get(head, {}).get(name, 0.0) for head in heads])
        drawn = np.flatnonzero(shares)
        if len(drawn):
            high = np.minimum(low + shares, 1.0)
            gid = f"mark--{kind.name}--{layers[0]}--{name}"
            _boxes(ax, x[drawn], low[drawn], high[drawn], width, _fill(name), gid)
            low = high
    size = max(3.0, min(26.0, (400 * width / most_layers) ** 1.6))
    points = {"kind": kind.name, "name": f"explained-{layers[0]}", "roles": about.roles, "s": size}
    draw_points(ax, heads, x, np.full(len(heads), _BELOW), **points)
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
