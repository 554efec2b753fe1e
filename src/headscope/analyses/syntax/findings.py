"""The findings on dependency relations; each claim of better or worse is backed by its test or its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

import pandas as pd

from headscope.analyses.syntax.noop_findings import noop_findings
from headscope.analyses.syntax.relations import Choice, Relation, choices, relations_of, share_of
from headscope.report_kit.comparing import Comparison, comparisons, verdicts
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, sentence
from headscope.report_kit.numbers import accuracy_words, offset_words, percent
from headscope.report_kit.relation_names import OVERALL, found_words, short
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Bars, Shades
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import count, join, join_first
from headscope.statistics.arc_bins import FEWEST_ARCS
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LEAST_SHARE
from headscope.study.study import Study

TOPIC = "syntax"
DETAIL = "syntax_detail"
"""Topics: for the first screen and the section's beginning; for details below table 1."""


def names(relations: Sequence[Relation]) -> str:
    """Return labels as a list: the first three and the number of the others."""
    return join_first([short(relation.name) for relation in relations], most=MOST_LISTED)


def syntax_findings(about: Context) -> list[Sentence]:
    """Return the sentences on dependency relations; empty where the run has no treebank."""
    run = about.run
    if run.tables.get("syntax_best") is None:
        return []
    relations = relations_of(run)
    chosen = choices(relations)
    if not chosen:
        return list(_nothing_chosen(relations))
    findings = [
        *_widest_margin(chosen, about),
        *_beating_count(chosen),
        *_direction(chosen),
        *_control(chosen, run.tables.get("syntax_differences")),
        *_overall(relations, about),
        *noop_findings(about),
        *_special(run),
    ]
    if not any(best.accuracy.has_interval for _, best in chosen):
        findings.append(sentence(TOPIC, "accuracies have no intervals: an interval needs at least 10 documents."))
    return findings


def _nothing_chosen(relations: Sequence[Relation]) -> Iterator[Sentence]:
    """Yield why no head was selected held-out, and how that could be changed."""
    untested = [relation for relation in relations if not relation.overall]
    if untested:
        yield _untested(len(untested))
        yield continued(TOPIC, "A head is selected on one half of the documents and scored on the other.")
    else:
        why = f"no relation of this treebank has the {FEWEST_ARCS} cases that are needed"
        yield sentence(TOPIC, f"which head finds a relation was not tested: {why}.")


def _untested(relations: int) -> Sentence:
    these = "the one relation" if relations == 1 else f"the {relations:,} relations"
    why = f"that needs at least {FEWEST_DOCUMENTS} documents"
    return sentence(TOPIC, f"whether a head beats the best fixed offset was not tested for {these}: {why}.")


def _widest_margin(chosen: Sequence[Choice], about: Context) -> Iterator[Sentence]:
    beating = [choice for choice in chosen if choice[1].beats]
    if not beating:
        return
    relation, best = max(beating, key=lambda choice: choice[1].margin)
    head = about.kind(best.kind).head(best.layer, best.head)
    cases = f"{accuracy_words(best.accuracy, long=True)} of {relation.n:,} cases"
    yield sentence(TOPIC, head, f" finds {found_words(relation.name)} in {cases}.")
    margin = Comparison.of(best.gap).points(signed=False)
    offset = f"{offset_words(best.offset)} ({percent(best.baseline.value, 1)})"
    above = f" lies {margin} above the best fixed offset, {offset}, on documents that did not select it."
    yield continued(TOPIC, head, above)


def _beating_count(chosen: Sequence[Choice]) -> Iterator[Sentence]:
    """Yield for how many relations a head beats every offset, is not shown to, or was not tested."""
    tested = [choice for choice in chosen if choice[1].tested]
    beating = [choice for choice in tested if choice[1].beats]
    if not tested:
        yield _untested(len(chosen))
        return
    selected = "a head selected on other documents"
    if beating:
        share = share_of(len(beating), len(tested))
        text = f"for {share} {selected} beats every fixed offset (q < 0.05)."
        yield sentence(TOPIC, text, figure=_found(beating))
        others = [choice for choice in tested if not choice[1].beats]
        if others:
            yield continued(TOPIC, f"Not shown for {names([relation for relation, _ in others])}.")
        if below := [relation for relation, best in others if best.margin < 0]:
            yield continued(TOPIC, f"Measured below the offset: {names(below)}.")
    else:
        none = f"for none of {count(len(tested), 'relation')} that were tested is {selected} shown to beat"
        yield sentence(TOPIC, f"{none} every fixed offset (q < 0.05).", figure=Shades())
    if left := [relation for relation, best in chosen if not best.tested]:
        yield continued(TOPIC, f"Not tested, for want of {FEWEST_DOCUMENTS} documents: {names(left)}.")


def _found(beating: Sequence[Choice]) -> Bars:
    """Draw the accuracy of the best heads of the first relations."""
    values = [(short(relation.name), best.accuracy.value) for relation, best in beating[:MOST_LISTED]]
    return Bars(tuple((name, value, percent(value, 0)) for name, value in values))


def _direction(chosen: Sequence[Choice]) -> Iterator[Sentence]:
    """Yield which words attend in the best heads of the relations that a head is shown to find."""
    beating = [choice for choice in chosen if choice[1].beats]
    straight = [relation for relation, best in beating if best.direction == "dependent->head"]
    turned = [relation for relation, best in beating if best.direction == "head->dependent"]
    if straight:
        share = share_of(len(straight), len(beating))
        yield sentence(DETAIL, f"in the heads that find {share} the dependent attends to its head word.")
        if turned:
            yield continued(DETAIL, f"for {names(turned)} the head word attends to the dependent.")


def _control(chosen: Sequence[Choice], gaps: pd.DataFrame | None) -> Iterator[Sentence]:
    compared = [(relation, best, relation.control) for relation, best in chosen if relation.control]
    if not compared:
        return
    mean = sum(control.mean for _, _, control in compared) / len(compared)
    average = sum(best.held_out.value for _, best, _ in compared) / len(compared)
    heads = f"heads selected on other documents average {percent(average, 1)} over these relations"
    yield sentence(TOPIC, f"{heads}, those of random weights {percent(mean, 1)}.")
    every = comparisons(gaps, than="control")
    sides_of: dict[str, set[str]] = {}
    for (row, _), side in zip(every, verdicts([gap for _, gap in every], least=LEAST_SHARE), strict=True):
        sides_of.setdefault(str(row["relation"]), set()).add(side)
    known = [sides_of.get(relation.name, set()) for relation, _, _ in compared]
    tested = [sides for sides in known if sides and "untested" not in sides]
    if tested:
        seeds = max(control.seeds for _, _, control in compared)
        over = "random weights" if seeds == 1 else f"each of the {seeds} random weights"
        share = share_of(tested.count({"more"}), len(tested))
        yield continued(TOPIC, f"The heads lie above {over} for {share} (false discovery rate 5%).")


def _overall(relations: Sequence[Relation], about: Context) -> Iterator[Sentence]:
    """Yield the accuracy of the best head over all words, compared with the branching baselines."""
    best_of = {relation.name: relation.held_out for relation in relations if relation.held_out}
    name = next((label for label in reversed(OVERALL) if label in best_of), None)
    if name is None:
        return
    best = best_of[name]
    head = about.kind(best.kind).head(best.layer, best.head)
    left = "punctuation and the root left aside" if name == "all_but_punct_root" else "the root always wrong"
    start = f"over all relations together ({left}) the selected head is "
    yield sentence(TOPIC, start, head, f" with {accuracy_words(best.accuracy)}.")
    offset = f"The best offset ({offset_words(best.offset)}) has {accuracy_words(best.baseline)}"
    yield continued(TOPIC, f"{offset}; the difference is {Comparison.of(best.gap).points()}.")
    rows = [row for row in records(about.run.tables.get("syntax_baselines")) if row["relation"] == name]
    branches = {str(row["baseline"]): accuracy_words(cell_of(row)) for row in rows}
    words = {"right-branching": "always the next word", "left-branching": "always the one before"}
    if sides := [f"{answer} ({side}) {branches[side]}" for side, answer in words.items() if side in branches]:
        yield continued(TOPIC, f"{join(sides)}.")


def _special(run: Study) -> Iterator[Sentence]:
    treebank = run.manifest.get("treebank") or {}
    changes = treebank.get("special_changes") or {}
    if "accuracies" not in changes or "of" not in changes:
        return
    leaving, letting = "leaving special tokens out of the candidates", "letting special tokens be candidates"
    change = leaving if treebank.get("special_kept") else letting
    number_changed, largest = int(changes["accuracies"]), number(changes.get("largest"))
    by = "" if isnan(largest) or not number_changed else f", the largest by {100 * largest:.1f} points"
    yield sentence(DETAIL, f"{change} would change {number_changed:,} of {int(changes['of']):,} accuracies{by}.")
