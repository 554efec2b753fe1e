"""The findings of table 2; two accuracies differ where the interval of their difference leaves out zero."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.corpora.mentions.unmatched import unmatched_line
from headscope.report_kit.comparing import compared, comparisons
from headscope.report_kit.linked_sentences import HeadRef, Sentence, sentence
from headscope.report_kit.numbers import accuracy_words, percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import NO_NUMBER, number
from headscope.report_kit.words import count, join, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

TOPIC = "coreference"
SYSTEMS = {
    "nearest": "the nearest candidate",
    "head match": "the nearest with the same head word",
    "head match, else nearest": "the same head word or else the nearest",
    "rules": "the four rules",
}

TYPES = {"all": "all mentions", "pronoun": "pronouns", "proper": "proper names", "nominal": "nominals"}


def coreference_findings(about: Context) -> list[Sentence]:
    """Return the sentences on coreference; none where the run has none."""
    table = antecedents_of(about.run)
    if table is None:
        return []
    best = table.held_out
    if best is None or not best.cells.get("all", NO_NUMBER).exists:
        return [
            sentence(
                TOPIC,
                "which head finds antecedents was not tested: it is selected and scored on different halves of at "
                f"least {FEWEST_DOCUMENTS} documents.",
            )
        ]
    gaps = about.run.tables.get("coref_differences")
    head = about.kind(best.kind).head(best.layer, best.head)
    out = [*_main(table, best, head, gaps), *_types(best, head, gaps), *_control(table, gaps)]
    if not best.cells["all"].has_interval:
        out.append(
            sentence(
                TOPIC,
                f"these accuracies have no intervals, and nothing was tested: both need at least {FEWEST_DOCUMENTS} "
                "documents.",
            )
        )
    return out


def _main(table: Antecedents, best: SelectedHead, head: HeadRef, gaps: pd.DataFrame | None) -> list[Sentence]:
    """The selected head's accuracy, then one sentence for each system that it is compared with."""
    accuracy = best.cells["all"]
    out = [
        sentence(
            TOPIC,
            head,
            f" picks a right antecedent for {accuracy_words(accuracy, long=True)} of "
            f"{count(accuracy.n, 'coreferent mention')}.",
        ),
        sentence(TOPIC, head, " was scored on documents that did not select it.", goes_on=True),
    ]
    for name, cells in table.systems.items():
        if "all" not in cells or not cells["all"].exists:
            continue
        gap = compared(gaps, system="head", than=name, mention_type="all")
        system = f"{SYSTEMS.get(name, plain(name))} ({percent(cells['all'].value, 1)})"
        if gap is None or gap.verdict == "untested":
            out.append(sentence(TOPIC, f"measured beside it, not tested: {system}.", goes_on=True))
        elif gap.verdict == "same":
            claim = f" cannot be told apart from {system}: {gap.at_most()}."
            out.append(sentence(TOPIC, head, claim, goes_on=True))
        else:
            claim = f" finds {gap.verdict} than {system}: {gap.points()}."
            out.append(sentence(TOPIC, head, claim, goes_on=True))
    return out


def _types(best: SelectedHead, head: HeadRef, gaps: pd.DataFrame | None) -> list[Sentence]:
    """The best type of mention against the worst, where their difference is sure."""
    cells = {name: cell for name, cell in best.cells.items() if name != "all" and cell.exists}
    if len(cells) < 2:
        return []
    high = max(cells, key=lambda name: cells[name].value)
    low = min(cells, key=lambda name: cells[name].value)
    gap = compared(gaps, system="head", than="head", mention_type=high, than_type=low)
    turned = compared(gaps, system="head", than="head", mention_type=low, than_type=high)
    if gap is None and turned is not None:
        gap = turned.turned()
    if gap is None or gap.verdict != "more":
        return []
    return [
        sentence(
            TOPIC,
            head,
            f" does best on {TYPES.get(high, plain(high))}, {accuracy_words(cells[high])}, and worst on "
            f"{TYPES.get(low, plain(low))}, {accuracy_words(cells[low])}.",
        ),
        sentence(TOPIC, f"between these types of mention lie {gap.points(signed=False)}.", goes_on=True),
    ]


def _control(table: Antecedents, gaps: pd.DataFrame | None) -> list[Sentence]:
    runs = table.control.get("all")
    if runs is None:
        return []
    span = (
        f" ({100 * runs.lowest:.1f} to {100 * runs.highest:.1f} over {runs.seeds} seeds)"
        if runs.seeds > 1
        else ""
    )
    out = [
        sentence(
            TOPIC,
            f"with random weights the best head, selected in the same way, is right for {percent(runs.mean, 1)}{span}.",
        )
    ]
    gaps_by_seed = [
        gap for _, gap in comparisons(gaps, system="selection", than="control", mention_type="all")
    ]
    if gaps_by_seed and all(gap.verdict == "more" for gap in gaps_by_seed):
        least = 100 * min(gap.low for gap in gaps_by_seed)
        by = (
            f"random weights by {gaps_by_seed[0].points(signed=False)}"
            if len(gaps_by_seed) == 1
            else f"each of the random weights by {least:.1f} points or more"
        )
        out.append(sentence(TOPIC, f"what is selected after training exceeds {by}.", goes_on=True))
    return out


def lost(manifest: Mapping[str, Any]) -> list[str]:
    """Say what was read, what was lost and why, and where head words come from; keys that are missing say nothing."""
    facts = manifest.get("coreference") or {}
    out = []
    counts = [
        count(int(facts[key]), key.removesuffix("s"))
        for key in ("documents", "windows", "mentions")
        if key in facts
    ]
    if counts:
        counted = f"; {_that_count(int(facts['counted']))}" if "counted" in facts else ""
        out.append(f"Read {join(counts)}{_of(facts)}{counted}.")
    if facts.get("lost"):
        why = [f"{plain(reason)}: {int(n):,}" for reason, n in dict(facts.get("lost_why") or {}).items()]
        out.append(
            f"Left out: {count(int(facts['lost']), 'mention')}"
            + (f" ({'; '.join(why)})" if why else "")
            + "."
        )
    if facts.get("unmatched_brackets"):
        brackets = [plain(bracket) for bracket in facts.get("unmatched_named") or []]
        out.append(f"Of the corpus {unmatched_line(int(facts['unmatched_brackets']), brackets)}.")
    rule = facts.get("head_rule") or {}
    source = rule.get("from")
    if source == "trees":
        out.append("Head words of mentions come from the trees.")
    elif source == "rule":
        out.append("Head words of mentions come from a rule, as there are no trees.")
    agreement = number(rule.get("agreement"))
    if not isnan(agreement):
        on = f" of {count(int(rule['n_mentions']), 'mention')}" if rule.get("n_mentions") else ""
        out.append(f"On trees the rule agrees in {percent(agreement, 1)}{on}.")
    return out


def _that_count(mentions: int) -> str:
    return count(
        mentions,
        "mention has an antecedent in its window and counts",
        "mentions have an antecedent in their window and count",
    )


def _of(facts: Mapping[str, Any]) -> str:
    return f" of {plain(facts['name'])}" if facts.get("name") else ""
