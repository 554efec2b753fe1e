"""Attention to special tokens from the words that attend in a head's relation, as facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.analyses.syntax.relations import choices, relations_of
from headscope.present.cells import Cell, number, records
from headscope.present.claim_rules import above, below
from headscope.present.facts import Fact
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import Words, attending
from headscope.statistics.inference.significance import LEAST_SHARE

LEAST_ATTENTION = 0.05
"""A special token with less attention than this from the other words, on average, is not an attention sink."""


@dataclass(frozen=True, kw_only=True)
class NoopFact(Fact):
    """A claim on the attention that the words of a relation give to a special token.

    Attributes:
        token: name of the special token.
        direction: direction of all relations; empty if they differ.
    """

    token: str
    direction: str
    topic = "syntax_noop"


class NoopUntested(NoopFact):
    """There are too few documents with such words."""


@dataclass(frozen=True, kw_only=True)
class Noop(NoopFact):
    """The number of relations with less attention than from other words, of those tested; the clearest.

    Attributes:
        less, more, tested, untested: numbers of relations.
        head: the head of the clearest relation; None if there is none.
        words: the attending words of that relation.
        from_words, from_others: attention to the token from these and from all other words.
    """

    less: int
    more: int
    tested: int
    untested: int
    head: HeadRef | None = None
    words: str = ""
    from_words: float = 0.0
    from_others: float = 0.0


def established_rows(run: Study) -> list[dict[str, Any]]:
    """Return the rows of `syntax_noop` on relations that a head is shown to find, in the order of table 1.

    Where no head beats every fixed offset, no word is known to attend in the relation.
    """
    order = {relation.name: rank for rank, (relation, best) in enumerate(choices(relations_of(run))) if best.beats}
    rows = [row for row in records(run.tables.get("syntax_noop")) if row["relation"] in order]
    return sorted(rows, key=lambda row: order[str(row["relation"])])


def token_name(key_class: str, words: Words) -> str:
    """Return the name of a special token's class in this model."""
    return {"cls": words.cls, "sep": words.sep}.get(key_class, key_class)


def noop_tokens(about: Context) -> list[str]:
    """Return the names of the special tokens that the rows are about."""
    present = {str(row["key_class"]) for row in established_rows(about.run)}
    return [token_name(key, about.words) for key in ("sep", "cls") if key in present]


def noop_facts(about: Context) -> Iterator[Fact]:
    """Yield for each special token for how many relations the attending words give it less attention than others do.

    The token with the most attention comes first.
    """
    rows = established_rows(about.run)
    others = pd.DataFrame(rows, columns=["key_class", "others"]).groupby("key_class")["others"]
    means = others.mean().reindex(["sep", "cls"]).sort_values(ascending=False, kind="stable")
    gaps = [_difference(row) for row in rows]
    fewer, further = above(gaps, least=LEAST_SHARE), below(gaps, least=LEAST_SHARE)
    every = list(zip(rows, gaps, fewer, further, strict=True))
    for key_class in means.index[means >= LEAST_ATTENTION]:
        these = [each for each in every if each[0]["key_class"] == key_class]
        tested = sum(gap.exists and gap.has_interval for _, gap, _, _ in these)
        directions = {str(row["direction"]) for row, *_ in these}
        token = token_name(key_class, about.words)
        direction = directions.pop() if len(directions) == 1 else ""
        if not tested:
            yield NoopUntested(token=token, direction=direction)
            continue
        less = [(row, gap) for row, gap, is_less, _ in these if is_less]
        fact: dict[str, Any] = {
            "token": token, "direction": direction, "less": len(less), "tested": tested,
            "more": sum(is_more for *_, is_more in these), "untested": len(these) - tested,
        }  # fmt: skip
        yield Noop(**fact, **_clearest(max(less, key=lambda pair: pair[1].ci_low)[0], about) if less else {})


def _clearest(row: dict[str, Any], about: Context) -> dict[str, Any]:
    return {
        "head": about.kind(str(row["kind"])).head(row["layer"], row["head"]),
        "words": attending(str(row["relation"]), str(row["direction"])),
        "from_words": number(row["attending"]),
        "from_others": number(row["others"]),
    }


def _difference(row: dict[str, Any]) -> Cell:
    """Return the other words' attention minus the attending words', with its interval; the table has the opposite."""
    gap, low, high = (-number(row[name]) for name in ("difference", "ci_high", "ci_low"))
    return Cell(gap, low, high, float("nan"), int(number(row["n_words"])))
