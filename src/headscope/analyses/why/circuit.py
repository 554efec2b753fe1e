"""The circuit map: an arc from each earlier head to the heads that it draws, and the same on the cards of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headscope.analyses.why.drawings import LEAST_SHARE, Drawing, drawings
from headscope.analyses.why.tables import OTHERS
from headscope.present.cells import Cell
from headscope.present.facts import CardFact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.views.markup import Html, el

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
