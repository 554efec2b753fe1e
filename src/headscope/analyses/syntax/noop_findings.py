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
        directions = {str(row["direction"]) for row, _ in rows}
        token = key_words(key_class, about.words)
        claim = f"{_who(directions)} give {token} less attention than other words do"
        if not tested:
            out += [
                sentence(NOOP, f"whether {claim} was not tested."),
                sentence(NOOP, "An interval needs at least 10 documents with such words.", goes_on=True),
            ]
            continue
        if less:
            text = f"for {share_of(len(less), len(tested))} {claim} (whole 95% interval of each)."
        else:
            relations = count(len(tested), "relation")
            text = f"for none of {relations} is it shown that {claim} (by 95% intervals)."
        out.append(sentence(NOOP, text))
        out.append(sentence(NOOP, _measured_in(directions), goes_on=True))
        if less:
            row, _ = max(less, key=lambda pair: pair[1].ci_low)
            out.append(
                sentence(
                    NOOP,
                    "The clearest is ",
                    about.kind(str(row["kind"])).head(row["layer"], row["head"]),
                    f": {percent(number(row['attending']), 1)} from "
                    f"{attending(str(row['relation']), str(row['direction']))}, "
                    f"{percent(number(row['others']), 1)} from others.",
                    goes_on=True,
                )
            )
        if more:
            out.append(sentence(NOOP, f"For {len(more):,} they give {token} more.", goes_on=True))
        if left := len(rows) - len(tested):
            text = f"For {left:,} more {token} was not tested, for want of documents."
            out.append(sentence(NOOP, text, goes_on=True))
    # In which heads that is, is said once for all tokens.
    return list(dict.fromkeys(out))


_ALONE = {"dependent->head": "the dependents", "head->dependent": "the dependents’ head words"}


def _who(directions: set[str]) -> str:
    """Say which words attend, of relations whose best heads have these directions."""
    (only,) = directions if len(directions) == 1 else ("",)
    return _ALONE.get(only, "the words that attend")


def _measured_in(directions: set[str]) -> str:
    """Say in which heads that is, and where directions differ who attends."""
    if len(directions) == 1 and directions <= set(_ALONE):
        return "Measured in the head that finds each relation."
    return "Measured in the head that finds each relation; dependents attend, or where they attend the head words."


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where there is none."""
    measured = [value for value in values if not isnan(value)]
    return sum(measured) / len(measured) if measured else float("nan")
