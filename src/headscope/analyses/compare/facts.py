"""What changed between two models: the pairs of heads that attend differently, and those that do not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import pandas as pd

from headscope.analyses.compare.pairs import CHANGED, SAME
from headscope.analyses.compare.tables import GAINED, LOST, TABLES
from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.features import ATTENDING
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.head_measures import NORM_WEIGHTED, SHARE, MeasureLabel
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


@dataclass(frozen=True, kw_only=True)
class Regrouped(Fact):
    """The groups of features that the explanation of a changed head gained or lost, by size.

    Attributes:
        head: the head.
        gained: up to `MOST_DIFFERENCES` phrases, with the share of the second model's head that the group explains.
        lost: the same, with the share of the first model's head.
    """

    kind: Kind
    head: HeadRef
    gained: Sequence[tuple[str, Cell]]
    lost: Sequence[tuple[str, Cell]]
    topic = "compare"


MOST_DIFFERENCES = 2
TARGETS = {
    f"stats.{name}": name
    for name, each in STATISTICS.items()
    if each.topic in ("position", "special") and each.rows is Rows.ALL and is_share(name)
}
"""The statistics that are shares of attention to some tokens, over all rows, by their columns in `study.heads`."""
LEAST_POINTS = 0.01
"""Smallest difference of a share, of an entropy or of a ratio that is put into words."""
MOST_DESCRIBED = 5
"""Number of changed heads whose differences are put into words."""


def label_of(about: Context, column: str) -> tuple[str, str] | None:
    """Return the label and the unit of a column of `study.heads`; None if pages do not list it.

    The unit of a share is `share`. Norm-weighted measures are not listed, and neither are lengths of vectors, whose
    differences say nothing without the length of the stream.
    """
    if (name := column.removeprefix("stats.")) in STATISTICS:
        return about.words.statistics[name], SHARE if is_share(name) else "nats"
    label = _labels().get(column)
    if label is None or label.comparable is not MeasureLabel.comparable:
        return None
    return about.words.fill(label.description or label.label), label.unit


@cache
def _labels() -> dict[str, MeasureLabel]:
    return {
        measures.column_name(analysis.name, names): label
        for analysis in ANALYSES
        for measures in analysis.head_measures
        if measures.labels and measures.suffix != NORM_WEIGHTED
        for names, label in analysis.load(measures.labels).items()
    }


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
            at = int(row["layer"]), int(row["head"])
            if differences := _differences(about, kind, *at):
                yield Differs(kind=kind, head=_head(kind, row), differences=differences)
            gained, lost = (_regrouped(about, kind, *at, verdict) for verdict in (GAINED, LOST))
            if gained or lost:
                yield Regrouped(kind=kind, head=_head(kind, row), gained=gained, lost=lost)


def _head(kind: Kind, row: Mapping[str, Any]) -> HeadRef:
    return kind.head(row["layer"], row["head"])


def _partner(row: Mapping[str, Any]) -> str:
    return f"{int(row['other_layer'])}-{int(row['other_head'])}"


def _differences(about: Context, kind: Kind, layer: int, head: int) -> list[tuple[str, Cell]]:
    """Return the shares of attention that differ the most."""
    rows = by_head(about.run)["measure_changes"][kind.name, layer, head]
    rows = differing(rows[rows["column"].isin(TARGETS)])[:MOST_DIFFERENCES]
    return [(TARGETS[row["column"]], cell_of(row, "difference")) for row in records(rows)]


def _regrouped(about: Context, kind: Kind, layer: int, head: int, verdict: str) -> list[tuple[str, Cell]]:
    """Return the phrases of the groups that a head gained or lost, with the larger share, the largest first."""
    rows = by_head(about.run).get("compare_groups", {}).get((kind.name, layer, head))
    if rows is None:
        return []
    share = "second" if verdict == GAINED else "first"
    rows = rows[rows["verdict"] == verdict].sort_values(share, ascending=False, kind="stable")[:MOST_DIFFERENCES]
    return [(phrase_of(about, row["group"]), cell_of(row, share)) for row in records(rows)]


def phrase_of(about: Context, group: str) -> str:
    """Return a group of features as a noun phrase."""
    return "the attending token" if group == ATTENDING else about.words.fill(GROUPS[group].phrase)


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
    """Return the measures that differ significantly and by enough for a sentence, the largest difference first."""
    rows = rows[(rows["q_value"] < SIGNIFICANT) & (rows["difference"].abs() >= LEAST_POINTS)]
    return rows.sort_values("difference", key=lambda each: each.abs(), ascending=False, kind="stable")


def change_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each pair of heads, the most changed first."""
    return [
        {
            "head": numbered(kind.name, int(row["layer"]), int(row["head"])),
            "other": _partner(row),
            "change": cell_of(row, "change"),
            "random_divergence": row["random_divergence"],
            "verdict": row["verdict"],
            "match": row["match"],
        }
        for row in _rows(about, kind)
    ]


def has_matches(about: Context, kind: Kind) -> bool:
    """Return True if some pair of a kind was tested for a match."""
    return any(row["match"] for row in _rows(about, kind))


def _rows(about: Context, kind: Kind) -> list[dict[str, Any]]:
    table = about.run.tables.get("head_changes")
    if table is None:
        return []
    rows = table[table["kind"] == kind.name].sort_values("change", ascending=False)
    return records(rows.assign(match=rows["match"].astype(object).map({True: "yes", False: "no"}).fillna("")))


PAGE = Page(__name__, compare_facts, uses=(change_rows, has_matches))
PARTS = PAGE.parts(group="alike")
