"""The findings of table 2; two accuracies differ if the interval of their difference excludes zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.corpora.mentions.unmatched import unmatched_line
from headscope.report_kit.comparing import Comparison, Verdict, compared, comparisons, verdicts
from headscope.report_kit.linked_sentences import HeadRef, Sentence, continued, sentence
from headscope.report_kit.numbers import accuracy_words, percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Shades
from headscope.report_kit.tables.cells import NO_NUMBER, number
from headscope.report_kit.words import count, join, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LEAST_SHARE

TOPIC = "coreference"
SYSTEMS = {
    "nearest": "the nearest candidate",
    "head match": "the nearest with the same head word",
    "head match, else nearest": "the same head word or else the nearest",
    "rules": "the four rules",
}

TYPES = {"all": "all mentions", "pronoun": "pronouns", "proper": "proper names", "nominal": "nominals"}


def coreference_findings(about: Context) -> list[Sentence]:
    """Return the sentences on coreference; empty where the run has none."""
    table = antecedents_of(about.run)
    return [] if table is None else list(_findings(about, table))


def _findings(about: Context, table: Antecedents) -> Iterator[Sentence]:
    best, gaps = table.held_out, about.run.tables.get("coref_differences")
    if best is None or not best.cells.get("all", NO_NUMBER).exists:
        why = f"it is selected and scored on different halves of at least {FEWEST_DOCUMENTS} documents"
        yield sentence(TOPIC, f"which head finds antecedents was not tested: {why}.")
        return
    head = about.kind(best.kind).head(best.layer, best.head)
    yield from _main(table, best, head, gaps)
    yield from _types(best, head, gaps)
    yield from _control(table, gaps)
    if not best.cells["all"].has_interval:
        why = f"both need at least {FEWEST_DOCUMENTS} documents"
        yield sentence(TOPIC, f"these accuracies have no intervals, and nothing was tested: {why}.")


def _main(table: Antecedents, best: SelectedHead, head: HeadRef, gaps: pd.DataFrame | None) -> Iterator[Sentence]:
    """Yield the selected head's accuracy, then one sentence for each system that it is compared with."""
    accuracy = best.cells["all"]
    mentions = f"{accuracy_words(accuracy, long=True)} of {count(accuracy.n, 'coreferent mention')}"
    if set(_beside_control(gaps)) <= {"more", "untested"}:
        yield sentence(TOPIC, head, f" picks a right antecedent for {mentions}.")
    else:
        none = "no head is shown to find more antecedents than with random weights."
        yield sentence(TOPIC, none, figure=Shades())
        yield continued(TOPIC, head, f" was selected, and is right for {mentions}.")
    yield continued(TOPIC, head, " was scored on documents that did not select it.")
    others = {name: cells["all"] for name, cells in table.systems.items() if cells.get("all", NO_NUMBER).exists}
    known_gaps = {name: gap for name in others if (gap := compared(gaps, system="head", than=name, mention_type="all"))}
    sides = dict(zip(known_gaps, verdicts(list(known_gaps.values()), least=LEAST_SHARE), strict=True))
    for name, cell in others.items():
        side, system = sides.get(name, "untested"), f"{SYSTEMS.get(name, plain(name))} ({percent(cell.value, 1)})"
        if side == "untested":
            yield continued(TOPIC, f"measured beside it, not tested: {system}.")
        elif side == "same":
            yield continued(TOPIC, head, f" cannot be told apart from {system}: {known_gaps[name].at_most()}.")
        else:
            yield continued(TOPIC, head, f" finds {side} than {system}: {known_gaps[name].points()}.")


def _types(best: SelectedHead, head: HeadRef, gaps: pd.DataFrame | None) -> Iterator[Sentence]:
    """Yield the best type of mention against the worst, if their difference is established."""
    cells = {name: cell for name, cell in best.cells.items() if name != "all" and cell.exists}
    if len(cells) < 2:
        return
    high = max(cells, key=lambda name: cells[name].value)
    low = min(cells, key=lambda name: cells[name].value)
    # The two types are the best and the worst of all, so the test covers every pair of types.
    every = [(row, gap) for row, gap in comparisons(gaps, system="head", than="head") if row["than_type"] in cells]
    by_types = {(row["mention_type"], row["than_type"]): gap for row, gap in every}
    by_types |= {(than, name): gap.turned() for (name, than), gap in by_types.items()}
    verdict = dict(zip(by_types, verdicts(list(by_types.values()), least=LEAST_SHARE), strict=True))
    if verdict.get((high, low)) == "more":
        gap = by_types[high, low]
        sides = [f"{TYPES.get(name, plain(name))}, {accuracy_words(cells[name])}" for name in (high, low)]
        yield sentence(TOPIC, head, f" does best on {sides[0]}, and worst on {sides[1]}.")
        yield continued(TOPIC, f"between these types of mention lie {gap.points(signed=False)}.")


def _control(table: Antecedents, gaps: pd.DataFrame | None) -> Iterator[Sentence]:
    runs = table.control.get("all")
    if runs is None:
        return
    span = f" ({100 * runs.lowest:.1f} to {100 * runs.highest:.1f} over {runs.seeds} seeds)"
    right = percent(runs.mean, 1) + (span if runs.seeds > 1 else "")
    selected = "with random weights the best head, selected in the same way,"
    yield sentence(TOPIC, f"{selected} is right for {right}.")
    of_seeds = _control_gaps(gaps)
    if set(_beside_control(gaps)) == {"more"}:
        least = 100 * min(gap.low for gap in of_seeds)
        by = (
            f"random weights by {of_seeds[0].points(signed=False)}"
            if len(of_seeds) == 1
            else f"each of the random weights by {least:.1f} points or more"
        )
        yield continued(TOPIC, f"what is selected after training exceeds {by}.")


def _control_gaps(gaps: pd.DataFrame | None) -> list[Comparison]:
    """Return the selection on the trained model minus the selection with random weights, for each draw of weights."""
    return [gap for _, gap in comparisons(gaps, system="selection", than="control", mention_type="all")]


def _beside_control(gaps: pd.DataFrame | None) -> list[Verdict]:
    return verdicts(_control_gaps(gaps), least=LEAST_SHARE)


def lost(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers read and left out, with reasons, and the source of head words; missing keys are omitted."""
    facts = manifest.get("coreference") or {}
    read = [
        count(int(facts[key]), key.removesuffix("s")) for key in ("documents", "windows", "mentions") if key in facts
    ]
    if read:
        of = f" of {plain(facts['name'])}" if facts.get("name") else ""
        single = "mention has an antecedent in its window and counts"
        several = "mentions have an antecedent in their window and count"
        counted = f"; {count(int(facts['counted']), single, several)}" if "counted" in facts else ""
        yield f"Read {join(read)}{of}{counted}."
    if facts.get("lost"):
        why = "; ".join(f"{plain(reason)}: {int(n):,}" for reason, n in (facts.get("lost_why") or {}).items())
        yield f"Left out: {count(int(facts['lost']), 'mention')}{f' ({why})' if why else ''}."
    if facts.get("unmatched_brackets"):
        brackets = [plain(bracket) for bracket in facts.get("unmatched_named") or []]
        yield f"Of the corpus {unmatched_line(int(facts['unmatched_brackets']), brackets)}."
    rule = facts.get("head_rule") or {}
    if rule.get("from") == "trees":
        yield "Head words of mentions come from the trees."
    elif rule.get("from") == "rule":
        yield "Head words of mentions come from a rule, as there are no trees."
    agreement = number(rule.get("agreement"))
    if not isnan(agreement):
        on = f" of {count(int(rule['n_mentions']), 'mention')}" if rule.get("n_mentions") else ""
        yield f"On trees the rule agrees in {percent(agreement, 1)}{on}."
