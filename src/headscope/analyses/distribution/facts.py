"""Distributions over tokens on the page, on cards and in a terminal: deciles of each measure, and examples of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from matplotlib.ticker import FuncFormatter

from headscope.analyses.distribution.sums import DECILES
from headscope.analyses.distribution.tables import MEASURES, RowMeasure
from headscope.analyses.measurement import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.present.blocks import Row
from headscope.present.cells import cell_of, number, rows_by_head
from headscope.present.drawing import placed
from headscope.present.figures.axes import log_axis
from headscope.present.figures.head_points import draw_points, panel_column, side_by_side
from headscope.present.figures.style import INK, SOFT, TICK, house_style
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import numbered
from headscope.present.numbers import two_digits
from headscope.present.page import Page
from headscope.present.page_tables import Grid
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.present.words import CardWords
from headscope.views.markup import Html

_INNER = (3, 7)
"""A head's line is thick between these deciles."""


@house_style()
def decile_figure(table: pd.DataFrame, *, kind: str, roles: pd.DataFrame | None = None) -> Drawn:
    """Draw a line for each head from its first decile to its ninth, a point at the fifth; one panel per measure.

    Heads are in order, layer after layer; measures that the kind does not have are left out. A point links to
    its head's card.

    Args:
        table: `tables/distribution.parquet`.
        kind: `encoder`, `decoder` or `cross`.
        roles: `kind layer head role`, for colors and shapes.
    """
    deciles = table[table["kind"] == kind]
    known = [name for name in MEASURES if deciles.loc[deciles["measure"] == name, "value"].notna().any()]
    figure, axes = panel_column(len(known), height=1.55)
    for ax, name in zip(axes, known):
        _panel(ax, deciles[deciles["measure"] == name], MEASURES[name], kind, roles)
    return figure


def _panel(ax: Axes, table: pd.DataFrame, measure: RowMeasure, kind: str, roles: pd.DataFrame | None) -> None:
    wide = table.pivot(index=["layer", "head"], columns="decile", values="value").dropna()
    heads = [(int(layer), int(head)) for layer, head in wide.index]
    x = side_by_side(ax, heads)
    thin = max(0.4, min(1.2, 120 / len(x)))
    low, high = (wide[decile].to_numpy() for decile in _INNER)
    gid = f"deciles--{kind}--{measure.name}"
    _lines(ax, x, wide[1].to_numpy(), wide[9].to_numpy(), color=SOFT, width=thin, zorder=1, alpha=0.7, gid=gid)
    _lines(ax, x, low, high, color=TICK, width=4 * thin, zorder=2)
    draw_points(ax, heads, x, wide[5].to_numpy(), kind=kind, name=measure.name, roles=roles)
    if measure.logarithmic:
        least = wide[1][wide[1] > 0].min() if (wide[1] > 0).any() else 1.0
        log_axis(ax, least / 1.3, float(wide[9].max()) * 1.3, subs=(1.0, 3.0))
    elif measure.unit == "share":
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    else:
        ax.set_ylim(0, None)
    unit = "% of the weight" if measure.unit == "share" else measure.unit
    ax.set_title(f"{measure.label}, {unit}", loc="left", fontsize=10, color=INK)


def _lines(
    ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, *, color: str, width: float, zorder: int, **how: Any
) -> None:
    """Draw all vertical lines as one path, so that a page with a thousand heads stays small."""
    gap = np.full(len(x), np.nan)
    across, along = (np.stack(ends, axis=1).ravel() for ends in ((x, x, gap), (low, high, gap)))
    ax.plot(across, along, color=color, linewidth=width, solid_capstyle="butt", zorder=zorder, **how)


TABULATED = (1, 5, 9)
"""The deciles in tables: the lowest, the median and the highest."""
MANY_HEADS = 512
"""With more heads of a kind, a card has one row per decile, so that the page opens at once."""


def _draw(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        if kind.has_values(table):
            yield kind.ending, partial(decile_figure, table, kind=kind.name, roles=about.roles)


FIGURE = Figure(name="figure-distribution", tables=("distribution",), draw=_draw)


def decile_picture(about: Context, kind: Kind) -> Html | None:
    """Place the figure of a kind."""
    label = f"The deciles of the rows of each {kind.name} head, by four measures; the table below has them."
    return next(iter(placed(about, FIGURE, label, ending=kind.ending)), None)


def decile_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the first, fifth and ninth decile of every head's measures, and how far its non-sink attention varies."""
    table = about.run.tables.get("distribution")
    if table is None or not kind.has_values(table):
        return []
    deciles = table[(table["kind"] == kind.name) & table["decile"].isin(TABULATED)]
    return [
        {
            "head": numbered(kind.name, *head),
            "spread": number(cells["non_sink", 9]["value"]) - number(cells["non_sink", 1]["value"]),
            **{f"{name} {decile}": cell_of(row, "value") for (name, decile), row in cells.items()},
        }
        for head, cells in rows_by_head(deciles, "measure", "decile")
    ]


def distribution_cards(run: Study, kind: Kind) -> dict[str, Any]:
    """Return `distribution` for the cards of the heads of a kind; None where distributions were not measured.

    It has `measures`: `name`, `label`, `unit`, and the `deciles` of each head in head order, None for a head without;
    `words`: every token as displayed, and in full where that differs; `strengths`: for each head index, the measure
    that orders its rows; and `rows`: for each head index the rows of each decile, weakest first, each a list of its
    value and the row in the format of `CardWords.attending`.
    """
    table, examples = run.tables.get("distribution"), run.tables.get("distribution_examples")
    if table is None or not (table["kind"] == kind.name).any():
        return {"distribution": None}
    deciles = table[table["kind"] == kind.name]
    measures = [_measure(deciles[deciles["measure"] == name], name, kind) for name in MEASURES]
    words, strengths = CardWords(), {}
    rows: dict[int, list[list[list[Any]]]] = {}
    if examples is not None:
        examples = examples[examples["kind"] == kind.name]
        if kind.size > MANY_HEADS:
            examples = examples[examples["rank"] == 1]
        for head_index, row in zip(kind.head_indices(examples).tolist(), examples.to_dict("records"), strict=True):
            strengths[head_index] = row["measure"]
            rows_of_head = rows.setdefault(head_index, [[] for _ in range(len(DECILES) + 1)])
            rows_of_head[int(row["decile"]) - 1].append([_short(row["value"]), *words.attending(row)])
    return {"distribution": {"measures": measures, "words": words.drawn(), "strengths": strengths, "rows": rows}}


def _measure(table: pd.DataFrame, name: str, kind: Kind) -> dict[str, Any]:
    values = np.full((kind.size, len(DECILES)), np.nan)
    head_index = kind.head_indices(table)
    values[head_index, table["decile"].to_numpy(int) - 1] = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    measure = MEASURES[name]
    return {
        "name": name,
        "label": measure.label,
        "unit": measure.unit if measure.unit in ("share", "nats", "tokens") else "",
        "deciles": [None if np.isnan(line).any() else [_short(value) for value in line] for line in values],
    }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the first, middle and last decile of every head's measures, for a terminal."""
    table = result.tables["distribution"]
    prefix = kind_prefixes(table["kind"])
    rows = []
    for (kind, layer, head), deciles in table.groupby(["kind", "layer", "head"], sort=False):
        by_measure = deciles.set_index(["measure", "decile"])["value"]
        cells = [" ".join(two_digits(by_measure[name, decile]) for decile in TABULATED) for name in MEASURES]
        rows.append([prefix[kind] + head_label(layer, head), *cells])
    yield Grid(("head", *(f"{each.label}, {each.unit.split()[0]}" for each in MEASURES.values())), rows)
    yield (
        "three numbers of each head's rows: a tenth of them lies below the first, half below the second, a tenth above "
        "the third; special tokens are not rows"
    )


PAGE = Page(__name__, lambda _: (), uses=(decile_picture, decile_rows))
PARTS = PAGE.parts(
    group="where",
    figures=(FIGURE,),
    explained=("distribution",),
    cards=distribution_cards,
    needed={"distribution": ("distribution", "run headscope report again")},
)
