"""What changed between two models: the pairs of heads that attend differently, and those that do not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from headscope.analyses.compare.pairs import CHANGED, SAME
from headscope.analyses.compare.tables import TABLES
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.statistics.inference.significance import SIGNIFICANT
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS, is_share

HeadKey: TypeAlias = tuple[Hashable, ...]
"""Kind, layer and head of a head of the first model, from 1."""


@dataclass(frozen=True, kw_only=True)
class Changed(Fact):
    """The heads that changed, those that are the same, and the number of those undecided, of one kind.

    `heads` are the changed heads, the most changed first; `largest` is the change of the first; `matched` is True if
    heads were paired by their attention.
    """

    kind: Kind
    other: str
    of: int
    heads: Sequence[HeadRef]
    largest: Cell | None
    same: int
    undecided: int
    matched: bool
    topic = "compare"
    rank = 5


@dataclass(frozen=True, kw_only=True)
class Matched(Fact):
    """The heads of one kind that have a match in the other model, and the first pair, whose divergence is smallest.

    `partner` is the head of the other model in the first pair; `nearest` is its divergence.
    """

    kind: Kind
    other: str
    of: int
    heads: Sequence[HeadRef]
    partner: str
    nearest: Cell | None
    topic = "compare"
    rank = 5


@dataclass(frozen=True, kw_only=True)
class Untested(Fact):
    """There are too few documents for intervals."""

    kind: Kind
    other: str
    topic = "compare"
    rank = 5


@dataclass(frozen=True, kw_only=True)
class Differs(Fact):
    """How a changed head differs: the statistics whose share of attention rose or fell the most, by size.

    Attributes:
        head: the head.
        differences: up to `MOST_DIFFERENCES` statistics with their differences, the second model minus the first.
    """

    kind: Kind
    head: HeadRef
    differences: Sequence[tuple[str, Cell]]
    topic = "compare"


MOST_DIFFERENCES = 2
TARGETS = tuple(
    name
    for name, each in STATISTICS.items()
    if each.topic in ("position", "special") and each.rows is Rows.ALL and is_share(name)
)
"""The statistics that are shares of attention to some tokens, over all rows."""
LEAST_POINTS = 0.01
"""Smallest difference of a share that is put into words."""
MOST_DESCRIBED = 5
"""Number of changed heads whose differences are put into words."""


def compare_facts(about: Context) -> Iterator[Fact]:
    """Yield the verdicts on the heads of each kind."""
    facts = about.run.manifest.get("compare", {})
    other, matched = facts.get("other", ""), facts.get("matched", False)
    for kind in about.kinds:
        rows = _rows(about, kind)
        if not rows:
            continue
        tested = [row for row in rows if isinstance(row["verdict"], str)]
        if not tested:
            yield Untested(kind=kind, other=other)
            continue
        if any(row["match"] for row in tested):
            pairs = [row for row in reversed(tested) if row["match"] == "yes"]
            yield Matched(
                kind=kind,
                other=other,
                of=len(tested),
                heads=[_head(kind, row) for row in pairs],
                partner=_partner(pairs[0]) if pairs else "",
                nearest=cell_of(pairs[0], "change") if pairs else None,
            )
        changed = [row for row in tested if row["verdict"] == CHANGED]
        same = sum(row["verdict"] == SAME for row in tested)
        if not same and any(row["match"] for row in tested):
            continue  # between unrelated models every pair differs
        yield Changed(
            kind=kind,
            other=other,
            of=len(tested),
            heads=[_head(kind, row) for row in changed],
            largest=cell_of(changed[0], "change") if changed else None,
            same=same,
            undecided=len(tested) - len(changed) - same,
            matched=matched,
            figure=kind.shaded({(int(row["layer"]), int(row["head"])): float(row["change"]) for row in rows}),
        )
        for row in changed[: 0 if matched else MOST_DESCRIBED]:
            if differences := _differences(about, kind, int(row["layer"]), int(row["head"])):
                yield Differs(kind=kind, head=_head(kind, row), differences=differences)


def _head(kind: Kind, row: Mapping[str, Any]) -> HeadRef:
    return kind.head(row["layer"], row["head"])


def _partner(row: Mapping[str, Any]) -> str:
    return f"{int(row['other_layer'])}-{int(row['other_head'])}"


def _differences(about: Context, kind: Kind, layer: int, head: int) -> list[tuple[str, Cell]]:
    """Return the shares of attention that differ the most."""
    rows = by_head(about.run)["measure_changes"][kind.name, layer, head]
    rows = differing(rows[rows["statistic"].isin(TARGETS)])[:MOST_DIFFERENCES]
    return [(row["statistic"], cell_of(row, "difference")) for row in records(rows)]


@once_a_study
def by_head(run: Study) -> dict[str, dict[HeadKey, pd.DataFrame]]:
    """Return the rows of each head in each table of a comparison, by table, and by kind, layer and head."""
    tables = {schema.name: run.tables.get(schema.name) for schema in TABLES}
    return {
        name: dict(list(table.groupby(["kind", "layer", "head"])))
        for name, table in tables.items()
        if table is not None
    }


def differing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the statistics that differ significantly and by enough for a sentence, the largest difference first."""
    rows = rows[(rows["q_value"] < SIGNIFICANT) & (rows["difference"].abs() >= LEAST_POINTS)]
    return rows.sort_values("difference", key=lambda each: each.abs(), ascending=False, kind="stable")


def change_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each pair of heads, the most changed first."""
    return [
        {
            "head": numbered(kind.name, int(row["layer"]), int(row["head"])),
            "other": _partner(row),
            "change": cell_of(row, "change"),
            "ceiling": row["ceiling"],
            "verdict": row["verdict"],
            "match": row["match"],
        }
        for row in _rows(about, kind)
    ]


def _rows(about: Context, kind: Kind) -> list[dict[str, Any]]:
    table = about.run.tables.get("head_changes")
    if table is None:
        return []
    rows = table[table["kind"] == kind.name].sort_values("change", ascending=False)
    return records(rows.assign(match=rows["match"].astype(object).map({True: "yes", False: "no"}).fillna("")))


PAGE = Page(__name__, compare_facts, uses=(change_rows,))
PARTS = PAGE.parts(group="alike")
