"""Effects on logits in the report: direct effect, loss without the head, compensation and copying."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.effects.accumulator import OV_COPYING
from headscope.analyses.effects.nats import nats_with_ends
from headscope.analyses.effects.tables import ON_LOGITS
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import cell_of, number, rows_by_head
from headscope.report_kit.tables.page_rows import Table

TERMS = (
    ("Direct effect", "what a head by itself adds to the logit of the right token, above the mean of all tokens, past "
     "all later layers: what it writes, through the last norm with the scale of the row as it is, times the token’s "
     "unembedding; the mean over the targets of an input, then over inputs"),
    ("Compensation", "the direct effect less what the logit loses when the head writes nothing. Above 0 later layers "
     "make up for the head; below 0 they needed it"),
    ("Copying", "what a head by itself adds to the logit of the token that it looks at most, sinks left out. Above 0 "
     "it copies what it looks at, below 0 it suppresses it. By weights alone: the sum of the real parts of the "
     "eigenvalues of W_U W_O W_V W_E over that of their moduli, from -1 to 1, norms left out"),
)  # fmt: skip


def measures_on_logits(table: pd.DataFrame) -> list[str]:
    """Return the measures of effects on logits that a table of effects has, in the order of the page."""
    measures = set(table["measure"])
    return [name for name in ON_LOGITS if name in measures]


def direct_table(table: pd.DataFrame, kind: Kind) -> Table | None:
    """Tabulate every head's effects on logits with their intervals; None where there are none.

    Args:
        table: `tables/effects.parquet`.
        kind: kind of attention.
    """
    names = measures_on_logits(table)
    if not names:
        return None
    # Weights are not a sample, and have no interval.
    columns = {name: 1 if name == OV_COPYING else 2 for name in names}
    rows, sizes = [], []
    for head, cells in rows_by_head(table[table["kind"] == kind.name], "measure"):
        row = [head_label(*head)]
        for name in names:
            # A head that was not changed lacks some measures.
            row += nats_with_ends(cell_of(cells.get((name,), {}), "value"))[: columns[name]]
        rows.append(tuple(row))
        sizes.append(abs(number(cells.get((names[0],), {}).get("value"))))
    titles = {"logit": "logit lost without it", "direct": "direct effect", OV_COPYING: "copying by weights"}
    return Table(
        summary=f"Table: what each head adds to the logit of the right token{kind.in_brackets}",
        groups=(("", 1), *((titles.get(name, name), columns[name]) for name in names)),
        header=("head", *(title for name in names for title in ("value", "95% interval")[: columns[name]])),
        rows=tuple(rows),
        name=f"table-direct-{kind.name}",
        matters=tuple(sizes),
        first=f"the largest {titles.get(names[0], names[0])} first",
    )
