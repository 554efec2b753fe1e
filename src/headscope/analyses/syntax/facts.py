"""Dependency heads: which relations a head is shown to find, and how far its accuracy lies above the baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.syntax.attending import Noop, noop_facts, noop_tokens
from headscope.analyses.syntax.figures import BY_DISTANCE, BY_LAYER, distance_panels
from headscope.analyses.syntax.page_rows import distance_rows, main_rows, noop_rows, paper_rows, same_data_rows
from headscope.analyses.syntax.relation_layers import heat, heat_key
from headscope.analyses.syntax.relations import (
    ROLE,
    UNIVERSAL,
    Best,
    Choice,
    Relation,
    choices,
    relation_scores,
    relations_of,
)
from headscope.present.cells import Cell, cell_of, records
from headscope.present.claim_rules import comparisons, verdicts
from headscope.present.facts import Fact
from headscope.present.linked_sentences import MOST_LISTED, Bars, HeadRef, Shades
from headscope.present.numbers import percent
from headscope.present.page import Page
from headscope.present.report_parts import Context, corpus_line
from headscope.present.words import OVERALL, short
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_SHARE
from headscope.statistics.tables.frames import FEWEST_ARCS as FEWEST_ARCS


class SyntaxFact(Fact):
    """A claim for the first screen."""

    topic = "syntax"
    rank = 30


class Detail(Fact):
    """A claim for the section alone."""

    topic = "syntax_detail"


class NoRelation(SyntaxFact):
    """No relation of the treebank has enough cases."""


@dataclass(frozen=True, kw_only=True)
class Untested(SyntaxFact):
    """There are too few documents for a test; `chosen` is true if heads were selected all the same."""

    relations: int
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class WidestMargin(SyntaxFact):
    """The head that lies furthest above the best fixed offset, on documents that did not select it."""

    head: HeadRef
    relation: Relation
    best: Best


@dataclass(frozen=True, kw_only=True)
class Beating(SyntaxFact):
    """The relations for which selecting a head beats every offset, of those that were tested; the names of the rest."""

    beating: int
    tested: int
    others: Sequence[str]
    below: Sequence[str]
    untested: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Direction(Detail):
    """The number of established relations in which the dependent attends; those in which the head word does."""

    dependents: int
    beating: int
    head_words: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Control(SyntaxFact):
    """The mean accuracy of selected heads and of random weights; relations above all `seeds` of them, of `tested`."""

    trained: float
    random: float
    above: int
    tested: int
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Overall(SyntaxFact):
    """The best head over all relations, beside the best offset and the branching baselines that were measured."""

    head: HeadRef
    best: Best
    without_root: bool
    right_branching: Cell | None
    left_branching: Cell | None


class NoIntervals(SyntaxFact):
    """There are too few documents for intervals."""


@dataclass(frozen=True, kw_only=True)
class SpecialCandidates(Detail):
    """The number of accuracies that change if special tokens are candidates, and the largest change in points."""

    kept: bool
    changed: int
    of: int
    largest: float | None


def syntax_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on dependency relations; none where the run has no treebank."""
    run = about.run
    if run.tables.get("syntax_best") is None:
        return
    relations = relations_of(run)
    chosen = choices(relations)
    if not chosen:
        single = [relation for relation in relations if not relation.overall]
        yield Untested(relations=len(single), chosen=False) if single else NoRelation()
        return
    yield from _beating(chosen, about)
    yield from _control(chosen, run.tables.get("syntax_differences"))
    yield from _overall(relations, about)
    yield from noop_facts(about)
    yield from _special_candidates(about)
    if not any(best.accuracy.has_interval for _, best in chosen):
        yield NoIntervals()


def _beating(chosen: Sequence[Choice], about: Context) -> Iterator[Fact]:
    """Yield for which relations a head beats every offset, and which words attend in these."""
    tested = [choice for choice in chosen if choice[1].tested]
    if not tested:
        yield Untested(relations=len(chosen), chosen=True)
        return
    beating = [choice for choice in tested if choice[1].beats]
    others = [choice for choice in tested if not choice[1].beats]
    if beating:
        relation, best = max(beating, key=lambda choice: choice[1].margin)
        yield WidestMargin(head=about.kind(best.kind).head(best.layer, best.head), relation=relation, best=best)
    values = [(short(relation.name), best.accuracy.value) for relation, best in beating[:MOST_LISTED]]
    yield Beating(
        beating=len(beating),
        tested=len(tested),
        others=_names(others),
        below=_names([choice for choice in others if choice[1].margin < 0]),
        untested=_names([choice for choice in chosen if not choice[1].tested]),
        figure=Bars(tuple((name, value, percent(value, 0)) for name, value in values)) if beating else Shades(),
    )
    if straight := [choice for choice in beating if choice[1].direction == "dependent->head"]:
        turned = [choice for choice in beating if choice[1].direction == "head->dependent"]
        yield Direction(dependents=len(straight), beating=len(beating), head_words=_names(turned))


def _names(chosen: Sequence[Choice]) -> list[str]:
    return [short(relation.name) for relation, _ in chosen]


def _control(chosen: Sequence[Choice], gaps: pd.DataFrame | None) -> Iterator[Fact]:
    compared = [(relation, best, relation.control) for relation, best in chosen if relation.control]
    if not compared:
        return
    every = comparisons(gaps, than="control")
    sides_of: defaultdict[str, set[str]] = defaultdict(set)
    for (row, _), side in zip(every, verdicts([gap for _, gap in every], least=LEAST_SHARE), strict=True):
        sides_of[str(row["relation"])].add(side)
    known = [sides_of[relation.name] for relation, _, _ in compared]
    tested = [sides for sides in known if sides and "untested" not in sides]
    yield Control(
        trained=sum(best.held_out.value for _, best, _ in compared) / len(compared),
        random=sum(control.mean for _, _, control in compared) / len(compared),
        above=tested.count({"more"}),
        tested=len(tested),
        seeds=max(control.seeds for _, _, control in compared),
    )


def _overall(relations: Sequence[Relation], about: Context) -> Iterator[Fact]:
    best_of = {relation.name: relation.held_out for relation in relations if relation.held_out}
    name = next((label for label in reversed(OVERALL) if label in best_of), None)
    if name is None:
        return
    best = best_of[name]
    rows = [row for row in records(about.run.tables.get("syntax_baselines")) if row["relation"] == name]
    branches = {str(row["baseline"]): cell_of(row) for row in rows}
    yield Overall(
        head=about.kind(best.kind).head(best.layer, best.head),
        best=best,
        without_root=name == "all_but_punct_root",
        right_branching=branches.get("right-branching"),
        left_branching=branches.get("left-branching"),
    )


def _special_candidates(about: Context) -> Iterator[Fact]:
    treebank = about.run.manifest.get("treebank") or {}
    if changes := treebank.get("special_changes"):
        changed = int(changes["accuracies"])
        yield SpecialCandidates(
            kept=bool(treebank.get("special_kept")),
            changed=changed,
            of=int(changes["of"]),
            largest=100 * changes["largest"] if changed else None,
        )


PAGE = Page(
    __name__, syntax_facts,
    uses=(
        *(Noop, noop_tokens, noop_rows, main_rows, same_data_rows, paper_rows, distance_rows),
        *(heat, heat_key, distance_panels),
    ),
)  # fmt: skip
PARTS = PAGE.parts(
    figures=(BY_LAYER, BY_DISTANCE),
    group="syntax",
    explained=("syntax_best",),
    read=lambda manifest: corpus_line(manifest.get("treebank"), "sentence"),
    functions=relation_scores,
    known_functions=UNIVERSAL,
    arcs="syntax_examples",
    role=ROLE,
    needed={"relations": ("syntax", "give the run a --treebank")},
)
