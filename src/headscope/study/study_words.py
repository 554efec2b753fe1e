"""Sentences and head cards of a study, which are produced outside the tables, and a cache of results per study."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from headscope.attention.head_id import HeadId

WIDTH = 100
"""Width of terminal output, in columns."""
MOST_EXAMPLES = 3


class Findings(tuple[str, ...]):
    """The sentences that a run supports, each with its numbers; displayed as a list, one below the other."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no findings"
        return "\n".join(textwrap.fill(each, WIDTH, initial_indent="- ", subsequent_indent="  ") for each in self)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in self)}</ul>"


@dataclass(frozen=True)
class HeadExample:
    """A sentence of the corpus that shows what a head does.

    Attributes:
        label: name of the behavior, such as the relation that the head finds.
        outcome: `right` or `wrong`; None if there is no right answer.
        text: the sentence.
    """

    label: str
    outcome: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.label}{f', {self.outcome}' if self.outcome else ''}: {self.text}"


@dataclass(frozen=True)
class HeadCard:
    """One head of a study: the first line of its card, and example sentences of its behavior.

    Attributes:
        id: layer and head.
        summary: its first line.
        examples: sentences, the clearest first.
        role: the name of its role.
        address: address of its card in the run's atlas; empty if the run has none.
    """

    id: HeadId
    summary: str
    examples: tuple[HeadExample, ...]
    role: str = ""
    address: str = field(default="", repr=False)

    def __repr__(self) -> str:
        lines = [textwrap.fill(f"Head {self.id}. {self.summary}", WIDTH, subsequent_indent="  ")]
        lines += [
            textwrap.fill(str(each), WIDTH, initial_indent="  - ", subsequent_indent="    ")
            for each in self.examples[:MOST_EXAMPLES]
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        link = f'<p><a href="{escape(self.address)}">This head in the atlas</a></p>' if self.address else ""
        shown = "".join(
            f"<li><b>{escape(each.label)}</b>{f' ({each.outcome})' if each.outcome else ''}: {escape(each.text)}</li>"
            for each in self.examples[:MOST_EXAMPLES]
        )
        examples = f"<ul>{shown}</ul>" if shown else ""
        return (
            '<div style="font:13px/1.5 system-ui,sans-serif">'
            f"<p><b>Head {escape(str(self.id))}</b> {escape(self.summary)}</p>{examples}{link}</div>"
        )


@dataclass(frozen=True, kw_only=True)
class StudyWords:
    """Functions that render a study in words, shared with the pages. Each takes a `Study`, which imports this module.

    Attributes:
        card: renders a study as HTML in a notebook.
        findings: returns the sentences that it supports.
        head_cards: returns a function that builds the card of a head.
        summaries: returns the first line of each head's card, by (kind, layer, head).
    """

    card: Callable[[Any], str]
    findings: Callable[[Any], Findings]
    head_cards: Callable[[Any], Callable[[HeadId], HeadCard]]
    summaries: Callable[[Any], Mapping[tuple[str, int, int], str]]


Run = TypeVar("Run")
Made = TypeVar("Made")


def once_a_study(make: Callable[[Run], Made]) -> Callable[[Run], Made]:
    """Cache a function of a study: it is called once per study, and its result is reused and must not be changed.

    The result must not refer to the study itself, which would then never be freed.

    Args:
        make: the function.
    """
    results: WeakKeyDictionary[Run, Made] = WeakKeyDictionary()

    @wraps(make)
    def result_of(run: Run) -> Made:
        if run not in results:
            results[run] = make(run)
        return results[run]

    return result_of
