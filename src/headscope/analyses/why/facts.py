"""What draws each head: the earlier heads, MLPs and embeddings with the largest shares in its pull."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.analyses.why.circuit import (
    LEAST_SHARE,
    Drawing,
    DrawnBy,
    Draws,
    card_facts,
    circuit,
    circuit_map,
    drawings,
    source_label,
)
from headscope.analyses.why.tables import OTHERS
from headscope.attention.head_id import HeadId, named_heads
from headscope.models.anatomy import KindLayout
from headscope.present.blocks import FactBlock, Row, TableBlock
from headscope.present.cells import cell_of, records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.page import Page
from headscope.present.page_tables import Grid
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.table import terminal_table

LEAST_MOVED = 0.05
"""Share of the attention that replacing the source with the largest share must move to agree with the share."""
MOST_DESCRIBED = 5
"""Number of heads whose sources are put into words."""


@dataclass(frozen=True, kw_only=True)
class WhyFact(Fact):
    """A claim on what draws the heads of a kind."""

    kind: Kind
    topic = "why"
    rank = 70
    decoder_rank = 1


@dataclass(frozen=True, kw_only=True)
class Drawn(WhyFact):
    """A head with the strongest source of its keys and of its queries; None for a side without one to name."""

    head: HeadRef
    key: Drawing | None
    query: Drawing | None


@dataclass(frozen=True, kw_only=True)
class Circuit(WhyFact):
    """The heads that earlier heads draw, and the number of heads tested."""

    heads: Sequence[HeadRef]
    of: int


@dataclass(frozen=True, kw_only=True)
class Disagreement(WhyFact):
    """The heads where replacing the source with the largest share moves little attention, or less than another does."""

    heads: Sequence[HeadRef]
    of: int


@dataclass(frozen=True, kw_only=True)
class Untested(WhyFact):
    """There are too few documents, or no random weights to compare with."""


def why_facts(about: Context) -> Iterator[Fact]:
    """Yield the sources of the heads of each kind."""
    for kind in about.kinds:
        sources = drawings(about, kind)
        tested = {head: rows for head, rows in sources.items() if any(row.established is not None for row in rows)}
        if sources and not tested:
            yield Untested(kind=kind)
        if not tested:
            continue
        drawn = {head: rows for head, rows in tested.items() if _by_heads(rows) > 0}
        strongest = sorted(drawn, key=lambda head: -_by_heads(drawn[head]))
        for head in strongest[:MOST_DESCRIBED]:
            yield drawn_fact(kind, head, [row for row in drawn[head] if row.established])
        yield Circuit(
            kind=kind, heads=[numbered(kind.name, *head) for head in strongest], of=len(tested),
            figure=kind.shaded({head: _by_heads(rows) / 2 for head, rows in drawn.items()}),
        )  # fmt: skip
        yield from card_facts(about, kind)
        replaced = {head: rows for head, rows in sources.items() if any(row.moved.exists for row in rows)}
        if replaced:
            apart = [numbered(kind.name, *head) for head, rows in replaced.items() if _disagree(rows)]
            yield Disagreement(kind=kind, heads=apart, of=len(replaced))


def drawn_fact(kind: Kind, head: tuple[int, int], rows: Sequence[Drawing]) -> Drawn:
    """Return the claim on a head, with the strongest source on each side."""
    key, query = (
        next((r for r in rows if r.side == side and r.part != OTHERS and r.share.value >= LEAST_SHARE), None)
        for side in ("key", "query")
    )
    return Drawn(kind=kind, head=kind.labeled_head(*head), key=key, query=query)


def _by_heads(rows: Sequence[Drawing]) -> float:
    """Return the largest established share of an earlier head on the key side, plus that on the query side."""
    shares = {"key": 0.0, "query": 0.0}
    for row in rows:
        if row.established and row.head is not None and row.share.value >= LEAST_SHARE:
            shares[row.side] = max(shares[row.side], min(row.share.value, 1.0))
    return sum(shares.values())


def _disagree(rows: Sequence[Drawing]) -> bool:
    """Return True if on some side the replaced source with the largest share moves little, or less than another."""
    for side in ("key", "query"):
        replaced = [row for row in rows if row.side == side and row.moved.has_interval and row.share.value > 0]
        if replaced and (replaced[0].moved.ci_high < LEAST_MOVED or replaced[0].moved_less):
            return True
    return False


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head: its pull, and the strongest source of its keys and of its queries."""
    pulls = about.run.tables.get("pulls")
    if pulls is None:
        return []
    of_heads = {
        (int(row["layer"]), int(row["head"])): row
        for row in records(pulls[(pulls["kind"] == kind.name) & (pulls["keys"] == "non_sink")])
    }
    rows: list[Row] = []
    for head, sources in drawings(about, kind).items():
        row: dict[str, Any] = {"head": numbered(kind.name, *head), "pull": cell_of(of_heads[head], "pull")}
        for side in ("key", "query"):
            first = next((each for each in sources if each.side == side and each.part != OTHERS), None)
            if first is not None:
                row |= {f"{side}_source": first.label, f"{side}_share": first.share, f"{side}_moved": first.moved}
        rows.append(row)
    return rows


def source_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each source with at least a tenth of a head's pull."""
    verdicts = {True: "yes", False: "no", None: ""}
    return [
        {
            "head": numbered(kind.name, *head),
            "side": each.side,
            "source": each.label,
            "share": each.share,
            "established": verdicts[each.established],
            "moved": each.moved,
        }
        for head, sources in drawings(about, kind).items()
        for each in sources
        if abs(each.share.value) >= LEAST_SHARE
    ]


def pair_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each pair of sources with at least a tenth of a head's pull."""
    table = about.run.tables.get("source_pairs")
    if table is None or table.empty:
        return []
    rows = table[(table["kind"] == kind.name) & (table["share"].abs() >= LEAST_SHARE)]
    return [
        {
            "head": numbered(kind.name, int(row["layer"]), int(row["head"])),
            "query": source_label(about, row, "query_"),
            "key": source_label(about, row, "key_"),
            "share": cell_of(row, "share"),
        }
        for row in records(rows)
    ]


@dataclass(frozen=True)
class WhyPage(Page):
    """The page, which shows some heads on request."""

    def check(self, layout: Sequence[KindLayout], *, heads: str = "", **_: str) -> None:
        """Refuse a list of heads that the model does not have."""
        if heads:
            named_heads(layout, names=heads.split(","))

    def terminal(self, run: Study, *, find: str | None = None, heads: str = "", **_: str) -> Iterator[Grid | str]:
        """Yield sentences and tables for a terminal; of some heads only, if they are named."""
        if not heads:
            yield from super().terminal(run, find=find)
            return
        about = Context.of(run)
        wanted = {HeadId.parse(name, kind=about.kinds[0].name) for name in heads.split(",")}
        drawn = [
            drawn_fact(kind, (layer, head), [row for row in rows if row.established])
            for kind in about.kinds
            for (layer, head), rows in drawings(about, kind).items()
            if HeadId(kind.name, layer, head) in wanted
        ]
        facts = [fact for fact in drawn if fact.key or fact.query]
        filled = self.template.fill(about, facts)
        for block in filled.each(FactBlock):
            yield from (f"- {sentence.text}" for sentence in block.sentences)
        yield from () if facts else ("- No source of these heads is above random weights.",)
        for table in filled.each(TableBlock):
            in_terminal = terminal_table(table, about, keep=lambda row: _id(row["head"]) in wanted)
            if in_terminal is not None:
                yield ""
                yield from in_terminal


def _id(head: HeadRef) -> HeadId:
    return HeadId(head.kind, head.layer, head.head)


PAGE = WhyPage(__name__, why_facts, uses=(head_rows, source_rows, pair_rows, circuit_map, DrawnBy, Draws))
PARTS = PAGE.parts(group="controlled", explained=("sources",), circuit=circuit)
