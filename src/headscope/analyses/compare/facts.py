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
class CompareFact(Fact):
    """A claim on the heads of one kind of attention in two models."""

    kind: Kind
    topic = "compare"
    rank = 5


@dataclass(frozen=True, kw_only=True)
class Changed(CompareFact):
    """The heads that changed, those that are the same, and the number of those undecided.

    `heads` are the changed heads, the most changed first; `largest` is the change of the first; `matched` is True if
    heads were paired by their attention.
    """

    other: str
    of: int
    heads: Sequence[HeadRef]
    largest: Cell | None
    same: int
    undecided: int
    matched: bool


@dataclass(frozen=True, kw_only=True)
class Matched(CompareFact):
    """The heads that have a match in the other model, and the first pair, whose divergence is smallest.

    `partner` is the head of the other model in the first pair; `nearest` is its divergence.
    """

    other: str
    of: int
    heads: Sequence[HeadRef]
    partner: str
    nearest: Cell | None


@dataclass(frozen=True, kw_only=True)
class Untested(CompareFact):
    """There are too few documents for intervals."""

    other: str


@dataclass(frozen=True, kw_only=True)
class Differs(CompareFact):
    """How a changed head differs: the statistics whose share of attention rose or fell the most, by size.

    Attributes:
        head: the head.
        differences: up to `MOST_DIFFERENCES` statistics with their differences, the second model minus the first.
    """

    head: HeadRef
    differences: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, kw_only=True)
class Regrouped(CompareFact):
    """The groups of features that the explanation of a changed head gained or lost, by size.

    Attributes:
        head: the head.
        gained: up to `MOST_DIFFERENCES` phrases, with the share of the second model's head that the group explains.
        lost: the same, with the share of the first model's head.
    """

    head: HeadRef
    gained: Sequence[tuple[str, Cell]]
    lost: Sequence[tuple[str, Cell]]


MOST_DIFFERENCES = 2
SCHEMAS = {schema.name: schema for schema in TABLES}
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
        tested = [row for row in rows if isinstance(row["verdict"], str)]
        of = {"kind": kind, "other": other}
        if rows and not tested:
            yield Untested(**of)
        if not tested:
            continue
        has_match = any(row["match"] for row in tested)
        if has_match:
            pairs = [row for row in reversed(tested) if row["match"] == "yes"]
            yield Matched(
                **of, of=len(tested), heads=_heads(kind, pairs), partner=_partner(pairs[0]) if pairs else "",
                nearest=cell_of(pairs[0], "change") if pairs else None,
            )  # fmt: skip
        changed = [row for row in tested if row["verdict"] == CHANGED]
        same = sum(row["verdict"] == SAME for row in tested)
        if not same and has_match:
            continue  # between unrelated models every pair differs
        heads = _heads(kind, changed)
        yield Changed(
            **of, of=len(tested), heads=heads, largest=cell_of(changed[0], "change") if changed else None, same=same,
            undecided=len(tested) - len(changed) - same, matched=matched,
            figure=kind.shaded({(int(row["layer"]), int(row["head"])): float(row["change"]) for row in rows}),
        )  # fmt: skip
        for head in heads[: 0 if matched else MOST_DESCRIBED]:
            at = (kind.name, head.layer, head.head)
            if differences := _differences(about, at):
                yield Differs(kind=kind, head=head, differences=differences)
            gained, lost = (_regrouped(about, at, verdict) for verdict in (GAINED, LOST))
            if gained or lost:
                yield Regrouped(kind=kind, head=head, gained=gained, lost=lost)


def _heads(kind: Kind, rows: Sequence[Mapping[str, Any]]) -> list[HeadRef]:
    return [kind.head(row["layer"], row["head"]) for row in rows]


def _partner(row: Mapping[str, Any]) -> str:
    return f"{int(row['other_layer'])}-{int(row['other_head'])}"


def _differences(about: Context, head: HeadKey) -> list[tuple[str, Cell]]:
    """Return the shares of attention that differ the most."""
    rows = rows_of_head(about.run, "measure_changes", head)
    rows = differing(rows[rows["column"].isin(TARGETS)])[:MOST_DIFFERENCES]
    return [(TARGETS[row["column"]], cell_of(row, "difference")) for row in records(rows)]


def _regrouped(about: Context, head: HeadKey, verdict: str) -> list[tuple[str, Cell]]:
    """Return the phrases of the groups that a head gained or lost, with the larger share, the largest first."""
    rows = rows_of_head(about.run, "compare_groups", head)
    share = "second" if verdict == GAINED else "first"
    rows = rows[rows["verdict"] == verdict].sort_values(share, ascending=False, kind="stable")[:MOST_DIFFERENCES]
    return [(phrase_of(about, row["group"]), cell_of(row, share)) for row in records(rows)]


def phrase_of(about: Context, group: str) -> str:
    """Return a group of features as a noun phrase."""
    return "the attending token" if group == ATTENDING else about.words.fill(GROUPS[group].phrase)


def rows_of_head(run: Study, table: str, head: HeadKey) -> pd.DataFrame:
    """Return the rows of a head in a table of a comparison; without rows where the table has none."""
    by_head = _by_head(run)[table]
    return by_head[head] if head in by_head else SCHEMAS[table].frame(())


@once_a_study
def _by_head(run: Study) -> dict[str, dict[HeadKey, pd.DataFrame]]:
    """Return the rows of each head in each table of a comparison, by table, and by kind, layer and head."""
    tables = {name: run.tables.get(name, schema.frame(())) for name, schema in SCHEMAS.items()}
    return {name: dict(list(table.groupby(["kind", "layer", "head"]))) for name, table in tables.items()}


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
