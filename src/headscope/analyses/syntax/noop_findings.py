"""Sentences on attention to special tokens from the words that attend in a head's relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from headscope.analyses.syntax.page_tables import key_words
from headscope.analyses.syntax.relations import choices, relations_of, share_of
from headscope.report_kit.claim_rules import above, below
from headscope.report_kit.linked_sentences import Sentence, continued, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.relation_names import attending
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Cell, number, records
from headscope.report_kit.words import count
from headscope.statistics.inference.worth_saying import LEAST_SHARE
from headscope.study.study import Study

NOOP = "syntax_noop"
LEAST_ATTENTION = 0.05
"""A special token with less attention than this from the other words, on average, is not an attention sink."""


def difference(row: dict[str, Any]) -> Cell:
    """Return the other words' attention minus the attending words', with its interval; the table has the opposite."""
    gap, low, high = (-number(row[name]) for name in ("difference", "ci_high", "ci_low"))
    return Cell(gap, low, high, float("nan"), int(number(row["n_words"])))


def noop_rows(run: Study) -> list[dict[str, Any]]:
    """Return the rows on attention to special tokens of relations that a head is shown to find.

    Where no head beats every fixed offset, no word is known to attend in the relation.
    """
    established = {relation.name for relation, best in choices(relations_of(run)) if best.beats}
    return [row for row in records(run.tables.get("syntax_noop")) if row["relation"] in established]


def noop_findings(about: Context) -> list[Sentence]:
    """Return for how many relations the attending words give a special token less attention than other words do."""
    # The sentence on the heads is the same for all tokens and is kept once.
    return list(dict.fromkeys(_findings(about, noop_rows(about.run))))


def _findings(about: Context, table_rows: Sequence[dict[str, Any]]) -> Iterator[Sentence]:
    others = pd.DataFrame(table_rows, columns=["key_class", "others"]).groupby("key_class")["others"]
    means = others.mean().reindex(["sep", "cls"]).sort_values(ascending=False, kind="stable")
    # The token with the most attention comes first.
    every = [difference(row) for row in table_rows]
    fewer, further = above(every, least=LEAST_SHARE), below(every, least=LEAST_SHARE)
    shown = list(zip(table_rows, every, fewer, further, strict=True))
    for key_class in means.index[means >= LEAST_ATTENTION]:
        rows = [(row, difference(row)) for row in table_rows if row["key_class"] == key_class]
        tested = [(row, gap) for row, gap in rows if gap.exists and gap.has_interval]
        less = [(row, gap) for row, gap, is_less, _ in shown if row["key_class"] == key_class and is_less]
        more = [gap for row, gap, _, is_more in shown if row["key_class"] == key_class and is_more]
        directions = {str(row["direction"]) for row, _ in rows}
        token = key_words(key_class, about.words)
        claim = f"{_who(directions)} give {token} less attention than other words do"
        if not tested:
            yield sentence(NOOP, f"whether {claim} was not tested.")
            yield continued(NOOP, "An interval needs at least 10 documents with such words.")
            continue
        text = f"for {share_of(len(less), len(tested))} {claim} (false discovery rate 5%)."
        if not less:
            relations = count(len(tested), "relation")
            text = f"for none of {relations} is it shown that {claim}."
        yield sentence(NOOP, text)
        yield continued(NOOP, _measured_in(directions))
        if less:
            row, _ = max(less, key=lambda pair: pair[1].ci_low)
            head = about.kind(str(row["kind"])).head(row["layer"], row["head"])
            these = attending(str(row["relation"]), str(row["direction"]))
            shares = [percent(number(row[side]), 1) for side in ("attending", "others")]
            text = f": {shares[0]} from {these}, {shares[1]} from others."
            yield continued(NOOP, "The clearest is ", head, text)
        if more:
            yield continued(NOOP, f"For {len(more):,} they give {token} more.")
        if left := len(rows) - len(tested):
            yield continued(NOOP, f"For {left:,} more {token} was not tested, for want of documents.")


_ALONE = {"dependent->head": "the dependents", "head->dependent": "the dependents’ head words"}


def _who(directions: set[str]) -> str:
    """Return the name of the words that attend, for relations whose best heads have these directions."""
    (only,) = directions if len(directions) == 1 else ("",)
    return _ALONE.get(only, "the words that attend")


def _measured_in(directions: set[str]) -> str:
    """Return a sentence on the heads that were measured, and on the attending words if directions differ."""
    if len(directions) == 1 and directions <= set(_ALONE):
        return "Measured in the head that finds each relation."
    return "Measured in the head that finds each relation; dependents attend, or where they attend the head words."
