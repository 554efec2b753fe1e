"""The sources of each head off the sink with their shares, and the circuit map: an arc from each earlier head to the
heads that it draws, and the same on the cards of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.analyses.why.parts import NAMES
from headscope.analyses.why.tables import OTHERS
from headscope.present.cells import Cell, cell_of, records
from headscope.present.facts import CardFact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.views.markup import Html, el

LEAST_SHARE = 0.1
"""Smallest share of the pull with which a source or a pair of sources is listed."""


@dataclass(frozen=True)
class Drawing:
    """A source of a head on one side.

    Attributes:
        side: `query` or `key`.
        label: name of the source: `1-1`, `MLP 1`, `token embedding`.
        part: kind of source, as in the table.
        head: the source, if it is a head.
        share: its share of the pull.
        established: True if the share is above that of random weights; None where it was not tested.
        moved: attention moved by its replacement; a missing cell if it was not replaced.
        moved_less: True if the replacement of another source on its side moves more.
    """

    side: str
    label: str
    part: str
    head: HeadRef | None
    share: Cell
    established: bool | None
    moved: Cell
    moved_less: bool


def drawings(about: Context, kind: Kind) -> dict[tuple[int, int], list[Drawing]]:
    """Return the sources of each head of a kind off the sink, by (layer, head) from 1, the largest share first."""
    table = off_sink(about.run)
    if table is None:
        return {}
    rows = table[table["kind"] == kind.name]
    heads: dict[tuple[int, int], list[Drawing]] = {}
    for row in records(rows):
        heads.setdefault((int(row["layer"]), int(row["head"])), []).append(_drawing(about, row))
    return dict(sorted(heads.items()))


@once_a_study
def off_sink(run: Study) -> pd.DataFrame | None:
    """Return the rows of sources off the sink, for each head the largest shares first."""
    table = run.tables.get("sources")
    if table is None or table.empty:
        return None
    rows = table[table["keys"] == "non_sink"]
    return rows.sort_values("share", key=lambda share: share.abs(), ascending=False, kind="stable")


def _drawing(about: Context, row: dict[str, Any]) -> Drawing:
    source = None
    if row["source_part"] == "head":
        source = about.kind(row["source_kind"]).labeled_head(row["source_layer"], row["source_head"])
    return Drawing(
        side=row["side"],
        label=source_label(about, row, "source_"),
        part=row["source_part"],
        head=source,
        share=cell_of(row, "share"),
        established=None if pd.isna(row["established"]) else bool(row["established"]),
        moved=cell_of(row, "moved", prefix="moved_ci"),
        moved_less=not pd.isna(row["moved_less"]) and bool(row["moved_less"]),
    )


def source_label(about: Context, row: dict[str, Any], prefix: str) -> str:
    """Return the name of a source: `1-1`, `MLP 1`, `token embedding`."""
    part = row[f"{prefix}part"]
    if part == "head":
        return about.kind(row[f"{prefix}kind"]).head_label(row[f"{prefix}layer"], row[f"{prefix}head"])
    if part == "mlp":
        layer = row[f"{prefix}layer"]
        return "before layer 1" if pd.isna(layer) else f"MLP {int(layer)}"
    return NAMES[part]


MOST_ARCS = 2000
"""Largest number of arcs of a kind in the page, those with the largest shares."""
MOST_SOURCES, MOST_DRAWN = 2, 4
"""Number of sources of each side, and of drawn heads, that a card names."""


@dataclass(frozen=True)
class HeadArc:
    """An established source head, the head that it draws, the side, and its share of the pull."""

    source: HeadRef
    drawn: HeadRef
    side: str
    share: Cell


@dataclass(frozen=True, kw_only=True)
class DrawnBy(CardFact):
    """The sources of a head with the largest shares on each side: heads are established, others may not be."""

    key: Sequence[Drawing]
    query: Sequence[Drawing]


@dataclass(frozen=True, kw_only=True)
class Draws(CardFact):
    """The heads that a head draws, each with its larger share, and the number of those not named."""

    arcs: Sequence[HeadArc]
    more: int


@once_a_study
def arcs_of(run: Study) -> tuple[HeadArc, ...]:
    """Return an arc for each established source that is a head, the largest share first."""
    about = Context.of(run)
    arcs = [
        HeadArc(source=row.head, drawn=kind.labeled_head(*head), side=row.side, share=row.share)
        for kind in about.kinds
        for head, rows in drawings(about, kind).items()
        for row in rows
        if row.established and row.head is not None
    ]
    return tuple(sorted(arcs, key=lambda arc: -arc.share.value))


def card_facts(about: Context, kind: Kind) -> Iterator[CardFact]:
    """Yield what draws each head of a kind, and which heads each draws."""
    for head, rows in drawings(about, kind).items():
        large = [row for row in rows if row.share.value >= LEAST_SHARE and row.part != OTHERS]
        named = [row for row in large if row.head is None or row.established]
        key, query = ([row for row in named if row.side == side][:MOST_SOURCES] for side in ("key", "query"))
        if named:
            yield DrawnBy(kind=kind, head=kind.head(*head), key=key, query=query)
    by_source: dict[HeadRef, dict[HeadRef, HeadArc]] = {}
    for arc in arcs_of(about.run):
        if arc.source.kind == kind.name and arc.share.value >= LEAST_SHARE:
            by_source.setdefault(arc.source, {}).setdefault(arc.drawn, arc)
    for source, drawn in by_source.items():
        arcs = list(drawn.values())
        yield Draws(kind=kind, head=source, arcs=arcs[:MOST_DRAWN], more=max(0, len(arcs) - MOST_DRAWN))


def circuit(run: Study, kind: Kind) -> list[list[int | float | str | None]]:
    """Return the arcs between heads of a kind for the page's script, see `Parts.circuit`."""
    arcs = [arc for arc in arcs_of(run) if arc.source.kind == arc.drawn.kind == kind.name]
    return [
        [
            kind.head_index(arc.source.layer, arc.source.head),
            kind.head_index(arc.drawn.layer, arc.drawn.head),
            arc.side,
            round(arc.share.value, 3),
            *(round(end, 3) if arc.share.has_interval else None for end in (arc.share.ci_low, arc.share.ci_high)),
        ]
        for arc in arcs[:MOST_ARCS]
    ]


def circuit_map(about: Context, kind: Kind) -> Html | None:
    """Return the place of the circuit map of a kind; None without arcs, or where the first screen has it."""
    if about.decoder_only or not circuit(about.run, kind):
        return None
    return el("div", class_="circuit", data_kind=kind.name)
