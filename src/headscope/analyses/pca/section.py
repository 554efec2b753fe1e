"""Principal directions in the report: the effective dimension of each head, in a figure and a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.pca.accumulator import SIDES
from headscope.analyses.pca.figures import effective_dimension_figure
from headscope.analyses.pca.tables import EFFECTIVE, SHARE_NAMES, TITLES
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import formatted
from headscope.report_kit.pictures.drawing import placed_by_kind
from headscope.report_kit.report_parts import Context, Drawing, Figure, Section, section
from headscope.report_kit.tables.cells import number, rows_by_head
from headscope.report_kit.tables.page_rows import Table

TITLE = "Effective dimension of queries, keys and outputs"
WHY = (
    "A head’s queries, keys and outputs are vectors of some dozens of numbers, of which few may matter: a head whose "
    "keys vary in two directions tells tokens apart in no more ways than two."
)
CAPTION = (
    "A point is a head, in its role’s color and shape: in how many directions its queries, keys and outputs vary over "
    "all tokens but the special ones, as if they varied evenly in so many. Heads that share keys stand at one height. "
    "Click a point to open its card."
)
TERMS = (
    ("Principal directions", "of a head’s queries, keys or outputs: the directions along which they vary most over "
     "all tokens but the special ones, by their covariance; queries and keys as they meet, after rotary positions, "
     "outputs Σ a v before the output projection"),
    ("Effective dimension", "(Σ l)² / Σ l² of the variances l along all principal directions: how many directions "
     "there are if all that are used are used alike"),
)  # fmt: skip
_SHOWN = (EFFECTIVE, *SHARE_NAMES[:2])


def _draw(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        if kind.has_values(table):
            yield (kind.ending, partial(effective_dimension_figure, table, kind=kind.name, roles=about.roles))


FIGURE = Figure(name="figure-pca", tables=("pca",), draw=_draw)


def pca_section(about: Context) -> list[Section]:
    """Build the section; empty where the run did not measure directions."""
    label = "The effective dimension of each {} head; the table below has them."
    blocks = placed_by_kind(about, FIGURE, label, effective_dimension_table, CAPTION)
    return section("pca", TITLE, WHY, blocks)


def effective_dimension_table(table: pd.DataFrame, kind: Kind) -> Table:
    """Return a table of the effective dimension of every head's vectors and the shares of the first two directions."""
    rows_of_kind = table[(table["kind"] == kind.name) & table["statistic"].isin(_SHOWN)]
    by_head = rows_by_head(rows_of_kind, "vectors", "statistic")
    rows = [
        (
            head_label(*head),
            *(
                formatted(number(cells.get((side, name), {}).get("value")) * scale, ".1f")
                for side in SIDES
                for name, scale in zip(_SHOWN, (1, 100, 100), strict=True)
            ),
        )
        for head, cells in by_head
    ]
    return Table(
        summary=f"Table: the directions of every head{kind.in_brackets}",
        groups=(("", 1), *((TITLES[side], len(_SHOWN)) for side in SIDES)),
        header=("head", *(word for _ in SIDES for word in ("directions", "first, %", "second, %"))),
        rows=tuple(rows),
        name=f"table-pca-{kind.name}",
        matters=tuple(-number(cells.get(("output", _SHOWN[0]), {}).get("value")) for _, cells in by_head),
        first="the fewest output directions first",
    )
