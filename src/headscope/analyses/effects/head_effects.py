"""Effects of single heads, read from the tables: for sentences, for the head's card, and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Literal

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from headscope.analyses.effects.tables import COMPENSATION, KEPT, LOSS, UNIFORM
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.present.cells import Cell, cell_of, number, records, rows_by_head
from headscope.present.claim_rules import above
from headscope.present.figures.axes import interval_bars
from headscope.present.figures.head_points import draw_points, panel_column, side_by_side
from headscope.present.figures.style import LEAST_MARK, LINE, SOFT, house_style
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.numbers import nats, percent, span
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.statistics.inference.significance import LEAST_LOSS, SIGNIFICANT

_WITHOUT = {"uniform": "with uniform attention", "sink": "with all its attention on a sink"}


@dataclass(frozen=True)
class HeadEffect:
    """The added loss of a model when one head is changed.

    Attributes:
        head: the head.
        added: added loss in nats, with its interval.
        is_shown: True if the loss changes significantly (false discovery rate 5% over all heads) and by `LEAST_LOSS`.
    """

    head: HeadRef
    added: Cell
    is_shown: bool


def added_losses(table: pd.DataFrame, kind: str) -> list[HeadEffect]:
    """Return the added loss of every head of a kind that was changed, the largest first.

    Args:
        table: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    effects = []
    for row in records(table[(table["kind"] == kind) & (table["measure"] == LOSS)]):
        added = cell_of(row, "value")
        is_shown = number(row["q_value"]) < SIGNIFICANT and abs(added.value) >= LEAST_LOSS
        effects.append(HeadEffect(numbered(kind, int(row["layer"]), int(row["head"])), added, is_shown))
    return sorted(effects, key=lambda effect: -effect.added.value)


def cells_by_head(table: pd.DataFrame, kind: Kind) -> dict[tuple[int, int], dict[str, Cell]]:
    """Return the numbers of single heads of a kind by layer and head, and by measure.

    Args:
        table: `tables/effects.parquet` or `tables/effect_kept.parquet`, or a part of it.
        kind: kind of attention.
    """
    rows = rows_by_head(table[(table["kind"] == kind.name) & table["head"].notna()], "measure")
    return {head: {name: cell_of(row, "value") for (name,), row in cells.items()} for head, cells in rows}


def effect_lines(run: Study, kind: Kind) -> Mapping[int, str]:
    """Return a line with the effect, effect kept, direct effect and compensation of each head, by the head's index.

    Args:
        run: study with the tables.
        kind: kind of attention.
    """
    tables = {name: run.tables[name] for name in ("effects", "effect_kept") if name in run.tables}
    by_head = {name: cells_by_head(table, kind) for name, table in tables.items()}
    effects, kept = by_head.get("effects", {}), by_head.get("effect_kept", {})
    how = _WITHOUT.get(str(tables["effects"]["intervention"].iloc[0]), "without it") if effects else ""
    # The effect kept is given only where replacing the attention by uniform attention has an effect.
    kept = dict(compress(kept.items(), above([cells[UNIFORM] for cells in kept.values()], least=LEAST_LOSS)))
    lines = {}
    for head in sorted({*effects, *kept}):
        if parts := list(_parts(effects.get(head, {}) | kept.get(head, {}), how)):
            lines[kind.head_index(*head)] = "; ".join(parts).replace("-", "−")
    return lines


def _parts(cells: Mapping[str, Cell], how: str) -> Iterator[str]:
    if LOSS in cells:
        yield f"{how}, {nats(cells[LOSS].value)} nats of loss are added{_interval(cells[LOSS])}"
    if KEPT in cells and (share := cells[KEPT]).has_interval:
        ends = f"{100 * share.ci_low:.0f} to {100 * share.ci_high:.0f}"
        yield f"its explanation keeps {percent(share.value)} of the effect of its attention ({ends})"
    for measure, words in ((DIRECT[0], "direct effect on the logit"), (COMPENSATION, "compensation")):
        if measure in cells:
            yield f"{words} {nats(cells[measure].value)}{_interval(cells[measure])}"


def _interval(cell: Cell) -> str:
    return f" ({span(cell.ci_low, cell.ci_high)})" if cell.has_interval else ""


LINEAR = 1e-3
"""Distance from 0 up to which an axis is linear by default, nats."""


def nats_axis(ax: Axes, which: Literal["x", "y"], *, linear: float = LINEAR) -> None:
    """Scale an axis for nats, and write its numbers with a minus sign.

    Args:
        ax: matplotlib axes.
        which: axis to scale.
        linear: distance from 0 up to which the axis is linear, nats.
    """
    set_scale = ax.set_xscale if which == "x" else ax.set_yscale
    set_scale("symlog", linthresh=linear, linscale=0.6)
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}".replace("-", "−")))


def draw_effects(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        if effects := added_losses(table, kind.name):
            yield kind.ending, partial(effect_figure, effects, kind=kind.name, roles=about.roles)


def effect_figure(effects: Sequence[HeadEffect], *, kind: str, roles: pd.DataFrame | None) -> matplotlib.figure.Figure:
    """Draw a point for each head at its added loss, with its interval; a point links to its head's card.

    Args:
        effects: effects of all heads.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    ordered = sorted(effects, key=lambda effect: (effect.head.layer, effect.head.head))
    heads = [(effect.head.layer, effect.head.head) for effect in ordered]
    value, low, high = (
        np.array([getattr(effect.added, name) for effect in ordered]) for name in ("value", "ci_low", "ci_high")
    )
    with house_style():
        figure, (ax,) = panel_column(1, height=2.6)
        x = side_by_side(ax, heads)
        nats_axis(ax, "y")
        ends = np.concatenate([value, low[np.isfinite(low)], high[np.isfinite(high)], [-LINEAR, 2 * LEAST_LOSS]])
        ax.set_ylim(1.3 * ends.min(), 1.3 * ends.max())
        ax.axhline(0, color=LINE, linewidth=1.0, zorder=1)
        ax.axhline(LEAST_LOSS, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        interval_bars(ax, x, low, high, color=SOFT, width=max(0.6, min(1.6, 120 / len(x))), alpha=0.8)
        draw_points(
            ax, heads, x, value, kind=kind, name="effects", roles=roles, s=max(LEAST_MARK, min(46.0, 3000 / len(x))),
        )  # fmt: skip
        ax.set_ylabel("added loss, nats")
        return figure


FIGURE = Figure(name="figure-effects", tables=("effects",), draw=draw_effects)
