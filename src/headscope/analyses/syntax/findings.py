"""The findings of the dependency tables; each claim of better or worse is backed by its test or its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pandas as pd

from headscope.analyses.syntax.noop_findings import noop_findings
from headscope.analyses.syntax.relations import Relation, relations_of, share_of, single
from headscope.report_kit.comparing import Comparison, comparisons
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, sentence
from headscope.report_kit.numbers import accuracy_words, offset_words, percent
from headscope.report_kit.relation_names import OVERALL, found_words, short
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import Words, count, join
from headscope.statistics.arc_bins import FEWEST_ARCS
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.study import Study

TOPIC = "syntax"
DETAIL = "syntax_detail"
"""Topics: of the first screen and the section's beginning; of details below table 1."""


def names(relations: Sequence[Relation]) -> str:
    """Return labels as a list, the first three and how many more."""
    labels = [short(relation.name) for relation in relations[:MOST_LISTED]]
    more = len(relations) - len(labels)
    return f"{', '.join(labels)} and {more:,} more" if more else join(labels)


def syntax_findings(about: Context) -> list[Sentence]:
    """Return the sentences on dependency relations; none where the run has no treebank."""
    run, words = about.run, about.words
    if run.tables.get("syntax_best") is None:
        return []
    relations = relations_of(run)
    chosen = single(relations)
    if not chosen:
        return _nothing_chosen(relations)
    out = [
        *_widest_margin(chosen, about),
        *_beating_count(chosen),
        *_direction(chosen),
        *_control(chosen, run.tables.get("syntax_differences")),
    ]
    out += _overall(relations, about)
    out += noop_findings(about)
    out += _special(run, words)
    if not any(relation.held_out and relation.held_out.accuracy.has_interval for relation in chosen):
        out.append(sentence(TOPIC, "accuracies have no intervals: an interval needs at least 10 documents."))
    return out


def _nothing_chosen(relations: Sequence[Relation]) -> list[Sentence]:
    """Say why no head was chosen on documents of its own, and what would let one be."""
    untested = [relation for relation in relations if not relation.overall]
    if not untested:
        return [
            sentence(
                TOPIC,
                f"which head finds a relation was not tested: no relation of this treebank has the {FEWEST_ARCS} cases "
                "that are needed.",
            )
        ]
    return [
        _untested(len(untested)),
        sentence(
            TOPIC, "A head is selected on one half of the documents and scored on the other.", goes_on=True
        ),
    ]


def _untested(relations: int) -> Sentence:
    return sentence(
        TOPIC,
        f"whether a head beats the best fixed offset was not tested for {_these(relations)}: that needs at least "
        f"{FEWEST_DOCUMENTS} documents.",
    )


def _widest_margin(chosen: Sequence[Relation], about: Context) -> list[Sentence]:
    beating = [relation for relation in chosen if relation.held_out and relation.held_out.beats]
    if not beating:
        return []
    widest = max(beating, key=lambda relation: relation.held_out.margin if relation.held_out else 0.0)
    best = widest.held_out
    assert best is not None
    head = about.kind(best.kind).head(best.layer, best.head)
    margin = Comparison.of(best.gap).points(signed=False)
    return [
        sentence(
            TOPIC,
            head,
            f" finds {found_words(widest.name)} in {accuracy_words(best.accuracy, long=True)} of {widest.n:,} cases.",
        ),
        sentence(
            TOPIC,
            head,
            f" lies {margin} above the best fixed offset, {offset_words(best.offset)} "
            f"({percent(best.baseline.value, 1)}), on documents that did not select it.",
            goes_on=True,
        ),
    ]


def _beating_count(chosen: Sequence[Relation]) -> list[Sentence]:
    """Say for how many relations a head beats every offset, for which that is not shown, and which were not tested."""
    tested = [relation for relation in chosen if relation.held_out and relation.held_out.tested]
    beating = [relation for relation in tested if relation.held_out and relation.held_out.beats]
    if not tested:
        return [_untested(len(chosen))]
    selected = "a head selected on other documents"
    if not beating:
        out = [
            sentence(
                TOPIC,
                f"for none of {count(len(tested), 'relation')} that were tested is {selected} shown to beat every "
                "fixed offset (q < 0.05).",
            )
        ]
    else:
        out = [
            sentence(
                TOPIC,
                f"for {share_of(len(beating), len(tested))} {selected} beats every fixed offset (q < 0.05).",
            )
        ]
        others = [relation for relation in tested if relation not in beating]
        below = [relation for relation in others if relation.held_out and relation.held_out.margin < 0]
        out += [sentence(TOPIC, f"Not shown for {names(others)}.", goes_on=True)] if others else []
        out += [sentence(TOPIC, f"Measured below the offset: {names(below)}.", goes_on=True)] if below else []
    left = [relation for relation in chosen if relation not in tested]
    if left:
        text = f"Not tested, for want of {FEWEST_DOCUMENTS} documents: {names(left)}."
        out.append(sentence(TOPIC, text, goes_on=True))
    return out


def _these(relations: int) -> str:
    return "the one relation" if relations == 1 else f"the {relations:,} relations"


def _direction(chosen: Sequence[Relation]) -> list[Sentence]:
    turned = [
        relation
        for relation in chosen
        if relation.held_out and relation.held_out.direction == "head->dependent"
    ]
    straight = [
        relation
        for relation in chosen
        if relation.held_out and relation.held_out.direction == "dependent->head"
    ]
    if not straight:
        return []
    out = [
        sentence(
            DETAIL,
            f"in the best heads of {share_of(len(straight), len(chosen))} the dependent attends to its head word.",
        )
    ]
    if turned:
        text = f"for {names(turned)} the head word attends to the dependent."
        out.append(sentence(DETAIL, text, goes_on=True))
    return out


def _control(chosen: Sequence[Relation], gaps: pd.DataFrame | None) -> list[Sentence]:
    compared = [
        (relation, relation.held_out, relation.control)
        for relation in chosen
        if relation.held_out and relation.control
    ]
    if not compared:
        return []
    mean = sum(control.mean for _, _, control in compared) / len(compared)
    average = sum(best.held_out.value for _, best, _ in compared) / len(compared)
    seeds = max(control.seeds for _, _, control in compared)
    verdicts_of = {
        relation.name: [gap.verdict for _, gap in comparisons(gaps, relation=relation.name, than="control")]
        for relation, _, _ in compared
    }
    tested = {
        name: verdicts for name, verdicts in verdicts_of.items() if verdicts and "untested" not in verdicts
    }
    above = [name for name, verdicts in tested.items() if set(verdicts) == {"more"}]
    out = [
        sentence(
            TOPIC,
            f"heads selected on other documents average {percent(average, 1)} over these relations, those of random "
            f"weights {percent(mean, 1)}.",
        )
    ]
    if tested:
        over = "random weights" if seeds == 1 else f"each of the {seeds} random weights"
        text = f"The heads lie above {over} for {share_of(len(above), len(tested))} (95% interval of each)."
        out.append(sentence(TOPIC, text, goes_on=True))
    return out


def _overall(relations: Sequence[Relation], about: Context) -> list[Sentence]:
    """The best head for every word, beside the branching baselines."""
    by_name = {relation.name: relation for relation in relations}
    name = next((label for label in reversed(OVERALL) if label in by_name and by_name[label].held_out), None)
    best = by_name[name].held_out if name else None
    if best is None:
        return []
    branches = {str(row["baseline"]): cell_of(row) for row in records(about.run.tables.get("syntax_baselines"))
                if row["relation"] == name and row["baseline"] != "offset"}  # fmt: skip
    labels = {
        "right-branching": "always the next word (right-branching)",
        "left-branching": "always the one before (left-branching)",
    }
    sides = [f"{side} {accuracy_words(branches[name])}" for name, side in labels.items() if name in branches]
    condition = (
        "punctuation and the root left aside" if name == "all_but_punct_root" else "the root always wrong"
    )
    out = [
        sentence(
            TOPIC,
            f"over all relations together ({condition}) the best head is ",
            about.kind(best.kind).head(best.layer, best.head),
            f" with {accuracy_words(best.accuracy)}.",
        ),
        sentence(
            TOPIC,
            f"The best offset ({offset_words(best.offset)}) has {accuracy_words(best.baseline)}; the difference is "
            f"{Comparison.of(best.gap).points()}.",
            goes_on=True,
        ),
    ]
    return [*out, sentence(TOPIC, f"{join(sides)}.", goes_on=True)] if sides else out


def _special(run: Study, words: Words) -> list[Sentence]:
    treebank = run.manifest.get("treebank") or {}
    changes = treebank.get("special_changes") or {}
    if "accuracies" not in changes or "of" not in changes:
        return []
    are_candidates = bool(treebank.get("special_kept", False))
    change = (
        "leaving special tokens out of the candidates"
        if are_candidates
        else "letting special tokens be candidates"
    )
    largest = number(changes.get("largest"))
    by = (
        f", the largest by {100 * largest:.1f} points" if not isnan(largest) and changes["accuracies"] else ""
    )
    return [
        sentence(
            DETAIL,
            f"{change} would change {int(changes['accuracies']):,} of {int(changes['of']):,} accuracies{by}.",
        )
    ]
