"""The look of each head on the grid: color, strength and the bar below; and the figure of stacked bars.

The first of these rules that holds decides on the look of a head:

1. Inactive: less than 5% of its attention is non-sink attention (not on the first token, separators, a learned sink).
2. Broad: its non-sink attention has at least 78.3% of the entropy of uniform attention.
3. Unexplained: less than a third of its non-sink attention is predicted, or no group adds a positive share.
4. Otherwise the head looks at the largest group in the explanation of its non-sink attention. Groups of one color
   count together; features that vary with the attending token do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from headscope.analyses.explanation.catalog import ADDED, GROUPS
from headscope.analyses.explanation.features import ATTENDING
from headscope.analyses.explanation.tables import EXPLANATION, EXPLANATION_GROUPS, NON_SINK, TEXT, TRAINED, WEIGHT
from headscope.palette import palette
from headscope.present.cells import records
from headscope.present.drawing import placed
from headscope.present.figures.head_points import draw_points
from headscope.present.figures.style import (
    LEAST_POINTS,
    LINE,
    PAGE_INCHES,
    house_style,
    narrow,
    new_figure,
    paper_width,
)
from headscope.present.head_functions import BROAD, LOOKS, RESTS, UNEXPLAINED, HeadLook
from headscope.present.kinds import Kind
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.statistics.roles import BROAD_RATIO
from headscope.statistics.tables.table_schema import TableSchema
from headscope.views.markup import Html, el

LEAST_EXPLAINED = 1 / 3
LEAST_OFF_SINK = 0.05
WHAT_ATTENDS = GROUPS[ATTENDING].role
COLORS = (*(color for color in LOOKS if color not in (BROAD, UNEXPLAINED)), "syntax", "coreference", WHAT_ATTENDS)
"""Names in the palette, in the order in which a bar is stacked; heads are drawn in at most nine colors."""


def color_of(group: str) -> str:
    """Return the name of a group's color in the palette; all groups that a user adds share one color."""
    return GROUPS[group].role if group in GROUPS else ADDED


def rows_of(
    run: Study, kind: Kind, schema: TableSchema = EXPLANATION, *, corpus: str = TEXT, measure: str = WEIGHT,
    model: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the rows of a table of explanations on a kind of attention; none if the run has no such table."""
    table = run.tables[schema.name] if schema.name in run.tables else schema.frame([])
    chosen = (table["corpus"] == corpus) & (table["measure"] == measure) & (table["kind"] == kind.name)
    return table[chosen if model is None else chosen & (table["model"] == model)]


def head_looks(run: Study, kind: Kind) -> dict[int, HeadLook]:
    """Return the look of each head of a kind, by the head's index; none where its explanations were not tested."""
    explanation, groups = (
        rows_of(run, kind, schema, measure=NON_SINK, model=TRAINED) for schema in (EXPLANATION, EXPLANATION_GROUPS)
    )
    if EXPLANATION_GROUPS.name not in run.tables or not explanation["explained"].notna().any():
        return {}
    shares = stacked(groups)
    return {
        kind.head_index(row["layer"], row["head"]): look_of(row, shares.get((int(row["layer"]), int(row["head"])), {}))
        for row in records(explanation)
    }


def look_of(row: Mapping[str, Any], shares: Mapping[str, float]) -> HeadLook:
    """Return the look of a head by the rules above.

    Args:
        row: row of `tables/explanation.parquet` for the head's non-sink attention.
        shares: gains of the groups in its explained share, by color.
    """
    off_sink, explained = float(row["mass"]), float(row["explained"])
    shares = {color: share for color, share in shares.items() if color != WHAT_ATTENDS}
    if not off_sink >= LEAST_OFF_SINK:
        color = RESTS
    elif row["to_explain"] <= (1 - BROAD_RATIO) * row["uniform"]:
        color = BROAD
    elif not explained >= LEAST_EXPLAINED or not shares:
        color = UNEXPLAINED
    else:
        color = max(shares, key=lambda name: shares[name])
    return HeadLook(color=color, explained=explained, sink=1 - off_sink if off_sink == off_sink else 1.0)


def stacked(groups: pd.DataFrame) -> dict[tuple[int, int], dict[str, float]]:
    """Return the share of each color in each head, by (layer, head); groups with a negative share are left out.

    Args:
        groups: rows of `tables/explanation_groups.parquet` of one kind, measure and model.
    """
    bars: dict[tuple[int, int], dict[str, float]] = {}
    for row in records(groups[groups["share"] > 0]):
        bar, color = bars.setdefault((int(row["layer"]), int(row["head"])), {}), color_of(str(row["group"]))
        bar[color] = bar.get(color, 0.0) + float(row["share"])
    return bars


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
