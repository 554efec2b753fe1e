"""Reach: the claims that a run supports, and the rows of their table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.present.blocks import Row
from headscope.present.cells import cell_of, records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context


@dataclass(frozen=True, kw_only=True)
class Reach(Fact):
    """The smallest and the largest mean distance, in tokens, among the heads of a kind."""

    heads: int
    nearest: float
    farthest: float
    topic = "reach"


def reach_facts(about: Context) -> Iterator[Fact]:
    """Yield the range of the heads of each kind."""
    for kind in about.kinds:
        if rows := head_rows(about, kind):
            values = [row["value"].value for row in rows]
            yield Reach(kind=kind, heads=len(rows), nearest=min(values), farthest=max(values))


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head of a kind; none if the run did not measure reach."""
    table = about.run.tables.get("reach")
    rows = [] if table is None else records(table[table["kind"] == kind.name])
    return [
        {"head": numbered(kind.name, int(row["layer"]), int(row["head"])), "value": cell_of(row, "value")}
        for row in rows
    ]


PAGE = Page(__name__, reach_facts, uses=(head_rows,))
PARTS = PAGE.parts(explained=("reach",))
