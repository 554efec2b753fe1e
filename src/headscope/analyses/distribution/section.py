"""Distributions over rows in the report: the deciles of every head, in a figure and a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.distribution.deciles import TABULATED
from headscope.analyses.distribution.figures import decile_figure
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import kind_links
from headscope.report_kit.numbers import rounded, share
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import rows_by_head
from headscope.report_kit.tables.page_rows import Table
from headscope.views.markup import Html

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
            yield kind.ending, partial(decile_figure, table, kind=kind.name, roles=about.run.roles)


FIGURE = Figure(name="figure-distribution", tables=("distribution",), draw=_draw)


def distribution_section(about: Context) -> list[Section]:
    """Build the section; none where the run counted no rows."""
    table = about.run.tables.get("distribution")
    if table is None:
        return []
    blocks: list[Html | None] = []
    for kind in about.kinds:
        if kind.has_values(table):
            label = f"The deciles of the rows of each {kind.name} head, by four measures; the table below has them."
            pictures = placed(about, FIGURE, label, ending=kind.ending)
            blocks += [*kind.heading(), *pictures, decile_table(table, kind).html()]
    files = kind_links(about, FIGURE, "The deciles of every head, drawn for this model")
    return section("distribution", TITLE, WHY, blocks, captions=(CAPTION,), files=files)


def decile_table(table: pd.DataFrame, kind: Kind) -> Table:
    """Tabulate the first, fifth and ninth decile of every head's measures, with the interval of the fifth."""
    deciles = table[(table["kind"] == kind.name) & table["decile"].isin(TABULATED)]
    known = [name for name in MEASURES if deciles.loc[deciles["measure"] == name, "value"].notna().any()]
    rows = []
    for head, cells in rows_by_head(deciles, "measure", "decile"):
        line = [head_label(*head)]
        for name in known:
            middle = cells[name, 5]
            ends = [_decile(name, middle[end]) for end in ("ci_low", "ci_high")]
            line += [_decile(name, cells[name, decile]["value"]) for decile in TABULATED]
            line.append("–" if "–" in ends else f"{ends[0]} to {ends[1]}")
        rows.append(tuple(line))
    labels = {
        name: f"{MEASURES[name].label}{', %' if MEASURES[name].unit == 'share' else ''}" for name in known
    }
    return Table(
        summary=f"Table: the deciles of every head’s rows{kind.in_brackets}",
        groups=(("", 1), *((labels[name], 4) for name in known)),
        header=("head", *(word for _ in known for word in ("1st", "5th", "9th", "95% interval of the 5th"))),
        rows=tuple(rows),
        name=f"table-distribution-{kind.name}",
    )


def _decile(name: str, value: float) -> str:
    return share(value) if MEASURES[name].unit == "share" else rounded(value, whole_from=100.0)
