"""Output norms: which heads are inactive, and whether attention to sink tokens alone would have identified them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan

import pandas as pd

from headscope.analyses.norms.tables import IN_LAYER, INACTIVE_BELOW
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records, rows_by_head
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context

SINK_SHARE = 0.5
"""A head attends to the sink if more than this share of its weight is on the first token, separators, a sink logit."""
SINK_STATISTICS = ("cls", "sep", "sink_logit")
"""The statistics whose shares sum to attention to the sink; one that cannot occur adds nothing."""


@dataclass(frozen=True)
class Activity:
    """One head's attention to the sink and its output norm.

    Attributes:
        head: the head.
        relative: its output norm divided by that of the layer's mean head.
        inactive: True if `relative` is below a quarter, corrected over the heads; None where it was not tested.
        sink_share: share of its attention on the first token, separators and a learned sink; NaN without statistics.
    """

    head: HeadRef
    relative: Cell
    inactive: bool | None
    sink_share: float

    @property
    def attends_to_sink(self) -> bool:
        """True if more than `SINK_SHARE` of its attention is on the sink."""
        return self.sink_share > SINK_SHARE

    @property
    def disagrees(self) -> bool:
        """True if it attends to the sink and is active, or the reverse."""
        known = self.inactive is not None and not isnan(self.sink_share)
        return known and self.attends_to_sink != self.inactive


@dataclass(frozen=True, kw_only=True)
class NormFact(Fact):
    """A claim on the tested heads of a kind: `heads` are listed, `of` is the number that they are counted among."""

    kind: Kind
    heads: Sequence[HeadRef] = ()
    of: int = 0
    topic = "norms"
    rank = 75


class Untested(NormFact):
    """There are too few documents for intervals."""


@dataclass(frozen=True, kw_only=True)
class Inactive(NormFact):
    """The inactive heads; if there are none, whether all intervals lie above the threshold."""

    all_above: bool


@dataclass(frozen=True, kw_only=True)
class OnSink(NormFact):
    """The heads with most of their attention on sink tokens: `heads` are active, `inactive` is the number of others."""

    inactive: int


class InactiveOffSink(NormFact):
    """The inactive heads with most of their attention elsewhere."""


def norm_facts(about: Context) -> Iterator[Fact]:
    """Yield the inactive heads of each kind, and where attention to sink tokens and output norm disagree."""
    for kind in about.kinds:
        heads = activities(about, kind)
        tested = [each for each in heads if each.inactive is not None]
        if heads and not tested:
            yield Untested(kind=kind)
        if not tested:
            continue
        inactive = [each for each in tested if each.inactive]
        on_sink = [each for each in tested if each.attends_to_sink]
        yield Inactive(
            kind=kind, heads=_listed(inactive), of=len(tested),
            all_above=all(each.relative.low > INACTIVE_BELOW for each in tested),
            figure=kind.shaded({(each.head.layer, each.head.head): each.relative.value for each in heads}),
        )  # fmt: skip
        if on_sink:
            active = [each for each in on_sink if not each.inactive]
            yield OnSink(
                kind=kind, heads=_listed(active)[::-1], of=len(on_sink), inactive=len(on_sink) - len(active),
                figure=kind.shaded({(each.head.layer, each.head.head): 1 for each in on_sink}),
            )  # fmt: skip
        if off_sink := [each for each in inactive if each.sink_share <= SINK_SHARE]:
            yield InactiveOffSink(kind=kind, heads=_listed(off_sink))


def activities(about: Context, kind: Kind) -> list[Activity]:
    """Return every head of a kind whose output was measured, by layer and head."""
    table = about.run.tables.get("norms")
    if table is None:
        return []
    rows = table[(table["kind"] == kind.name) & (table["statistic"] == IN_LAYER) & table["value"].notna()]
    shares: dict[tuple[int, int], float] = {}
    unknown = 0.0 if "stats" in about.run.tables else nan
    for statistic in SINK_STATISTICS:
        for layer, head, cell in kind.each(statistic):
            shares[layer, head] = shares.get((layer, head), 0.0) + cell.value
    heads = []
    for row in records(rows.sort_values(["layer", "head"])):
        layer, head = int(row["layer"]), int(row["head"])
        inactive = None if pd.isna(row["inactive"]) else bool(row["inactive"])
        on_sink = shares.get((layer, head), unknown)
        heads.append(Activity(numbered(kind.name, layer, head), cell_of(row, "value"), inactive, on_sink))
    return heads


def _listed(heads: Sequence[Activity]) -> list[HeadRef]:
    """Return the heads by their output norm, the smallest first."""
    return [
        each.head for each in sorted(heads, key=lambda each: (each.relative.value, each.head.layer, each.head.head))
    ]


def activity_points(about: Context, kind: Kind) -> list[Row]:
    """Return a point for each head: its attention to the sink, its output norm, and whether the two disagree."""
    return [
        {"head": each.head, "sink_share": each.sink_share, "relative": each.relative.value, "disagrees": each.disagrees}
        for each in activities(about, kind)
    ]


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head: its output norms, and its value norm by class of token."""
    table = about.run.tables.get("norms")
    if table is None or not kind.has_values(table):
        return []
    rows = table[(table["kind"] == kind.name) & table["head"].notna()]
    named = rows_by_head(rows.assign(field=rows["key_class"].fillna(rows["statistic"])), "field")
    return [
        {"head": numbered(kind.name, *head), **{field: cell_of(cells[field,], "value") for (field,) in cells}}
        for head, cells in named
    ]


def non_sink(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the share of each head's weight that is not on the sink, for `study.heads`.

    Args:
        read: function that returns a table by its name, None if the run has no such table.

    Returns:
        The column `non_sink` by kind, layer and head.
    """
    stats = read("stats")
    if stats is None:
        return None
    rows = stats[stats["head"].notna() & (stats["measure"] == "weight") & stats["statistic"].isin(SINK_STATISTICS)]
    if rows.empty:
        return None
    rows = rows.astype({"layer": "int64", "head": "int64"})
    return pd.DataFrame({"non_sink": 1 - rows.groupby(["kind", "layer", "head"])["value"].sum()})


PAGE = Page(__name__, norm_facts, uses=(activity_points, head_rows))
PARTS = PAGE.parts(group="where", explained=("norms",))
