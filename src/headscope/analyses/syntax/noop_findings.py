"""Sentences on attention to special tokens: how much of it the words give that attend in a head's relation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from headscope.analyses.syntax.page_tables import key_words
from headscope.analyses.syntax.relations import relations_of, share_of, single
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.relation_names import attending
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Cell, number, records
from headscope.report_kit.words import count
from headscope.study.study import Study

NOOP = "syntax_noop"
LEAST_ATTENTION = 0.05
"""A special token with less of the other words' attention on average is no attention sink."""


def difference(row: dict[str, Any]) -> Cell:
    """Return others minus those that attend with its interval; the table has it the other way round."""
    gap, low, high = (-number(row[name]) for name in ("difference", "ci_high", "ci_low"))
    return Cell(gap, low, high, float("nan"), int(number(row["n_words"])))


def noop_rows(run: Study) -> list[dict[str, Any]]:
    """Return the rows on attention to special tokens of relations that a head is shown to find.

    Where no head beats every fixed offset no word is known to attend in the relation.
    """
    established = {
        relation.name
        for relation in single(relations_of(run))
        if relation.held_out and relation.held_out.beats
    }
    return [row for row in records(run.tables.get("syntax_noop")) if row["relation"] in established]


def noop_findings(about: Context) -> list[Sentence]:
    """Say for how many relations the words that attend give a special token less attention than other words do."""
    out = []
    table_rows = noop_rows(about.run)
    means = {
        name: _mean([number(row["others"]) for row in table_rows if row["key_class"] == name])
        for name in ("sep", "cls")
    }
    sinks = [name for name in means if means[name] >= LEAST_ATTENTION]
    # The token with most attention comes first.
    for key_class in sorted(sinks, key=lambda name: -means[name]):
        rows = [(row, difference(row)) for row in table_rows if row["key_class"] == key_class]
        tested = [(row, gap) for row, gap in rows if gap.exists and gap.has_interval]
        less = [(row, gap) for row, gap in tested if gap.ci_low > 0]
        more = [gap for _, gap in tested if gap.ci_high < 0]
        claim = (
            f"{_who({str(row['direction']) for row, _ in rows})} give {key_words(key_class, about.words)} less of "
            "their attention than all other words do in the head that finds the relation"
        )
        if not tested:
            untested = (
                f"whether {claim} was not tested: an interval needs at least 10 documents with such words."
            )
            out.append(sentence(NOOP, untested))
            continue
        tail = f"; for {len(more):,} they give it more" if more else ""
        if left := len(rows) - len(tested):
            tail += f"; {left:,} more {'was' if left == 1 else 'were'} not tested, for want of documents"
        if not less:
            start = f"it is shown for none of {count(len(tested), 'relation')} that "
            out.append(sentence(NOOP, f"{start}{claim} (by the 95% interval of each){tail}."))
            continue
        row, _ = max(less, key=lambda pair: pair[1].ci_low)
        out.append(
            sentence(
                NOOP,
                f"for {share_of(len(less), len(tested))} {claim}, each by its own 95% interval{tail}. The clearest is ",
                about.kind(str(row["kind"])).head(row["layer"], row["head"]),
                f": {percent(number(row['attending']), 1)} from "
                f"{attending(str(row['relation']), str(row['direction']))}, "
                f"{percent(number(row['others']), 1)} from all other words.",
            )
        )
    return out


def _who(directions: set[str]) -> str:
    """Say which words attend, of relations whose best heads have these directions."""
    alone = {"dependent->head": "the dependents", "head->dependent": "the dependents’ head words"}
    (only,) = directions if len(directions) == 1 else ("",)
    return alone.get(only, "the words that attend (the dependents, or where they attend the head words)")


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where there is none."""
    measured = [value for value in values if not isnan(value)]
    return sum(measured) / len(measured) if measured else float("nan")
