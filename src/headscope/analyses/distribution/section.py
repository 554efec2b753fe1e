"""Distributions over rows in the report: the deciles of every head, in a figure and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from headscope.analyses.distribution.deciles import TABULATED
from headscope.analyses.distribution.figures import decile_figure
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import rounded, share
from headscope.report_kit.pictures.drawing import placed_by_kind
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import number, rows_by_head
from headscope.report_kit.tables.page_rows import Table

TITLE = "Distribution over tokens"
WHY = (
    "A mean cannot tell a head that is always weakly active from one that is rarely strongly active. These are the "
    "deciles over all tokens."
)
CAPTION = (
    "A line is a head, from the first decile of its rows to the ninth, thick between the third and "
    "the seventh; the point, in its role’s color and shape, has half of the rows below it. Special tokens are no "
    "rows. Click a point to open its card; in the atlas a card has rows of every decile, with their words."
)


def _draw(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        if kind.has_values(table):
            yield kind.ending, partial(decile_figure, table, kind=kind.name, roles=about.roles)


FIGURE = Figure(name="figure-distribution", tables=("distribution",), draw=_draw)


def distribution_section(about: Context) -> list[Section]:
    """Build the section; empty where the run counted no rows."""
    label = "The deciles of the rows of each {} head, by four measures; the table below has them."
    blocks = placed_by_kind(about, FIGURE, label, decile_table, CAPTION)
    return section("distribution", TITLE, WHY, blocks)


def decile_table(table: pd.DataFrame, kind: Kind) -> Table:
    """Return a table of the first, fifth and ninth decile of every head's measures, with the interval of the fifth."""
    deciles = table[(table["kind"] == kind.name) & table["decile"].isin(TABULATED)]
    known = [name for name in MEASURES if deciles.loc[deciles["measure"] == name, "value"].notna().any()]
    by_head = rows_by_head(deciles, "measure", "decile")
    widest = "non_sink" if "non_sink" in known else next(iter(known), "")
    rows = [
        (head_label(*head), *(number for name in known for number in _four(name, cells))) for head, cells in by_head
    ]
    labels = {name: f"{MEASURES[name].label}{', %' if MEASURES[name].unit == 'share' else ''}" for name in known}
    return Table(
        summary=f"Table: the deciles of every head’s rows{kind.in_brackets}",
        groups=(("", 1), *((labels[name], 4) for name in known)),
        header=("head", *(word for _ in known for word in ("1st", "5th", "9th", "95% interval of the 5th"))),
        rows=tuple(rows),
        name=f"table-distribution-{kind.name}",
        matters=tuple(number(cells[widest, 9]["value"]) - number(cells[widest, 1]["value"]) for _, cells in by_head),
        first=f"the widest {MEASURES[widest].label} first" if widest else "",
    )


def _four(name: str, cells: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> list[str]:
    """Return the three deciles of a measure that are tabulated, and the interval of the middle one."""
    ends = [_decile(name, cells[name, 5][end]) for end in ("ci_low", "ci_high")]
    interval = "–" if "–" in ends else " to ".join(ends)
    return [*(_decile(name, cells[name, decile]["value"]) for decile in TABULATED), interval]


def _decile(name: str, value: float) -> str:
    return share(value) if MEASURES[name].unit == "share" else rounded(value, whole_from=100.0)
