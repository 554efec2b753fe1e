"""A sentence of the report: text with references to heads, so that a page can link each to its card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.attention.head_id import head_anchor, head_label
from headscope.report_kit.numbers import amount, interval, interval_decimals
from headscope.report_kit.small_figures import SmallFigure
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import capital
from headscope.views.markup import Html, el

MOST_LISTED = 3
"""Largest number of heads, relations or behaviors that a sentence lists; the table below the sentence has all."""


@dataclass(frozen=True)
class HeadRef:
    """A head named in a sentence."""

    kind: str
    layer: int
    head: int
    text: str

    @property
    def anchor(self) -> str:
        """The address of its card within the page, without the `#`."""
        return head_anchor(self.kind, self.layer, self.head)

    @property
    def link(self) -> Html:
        """Its text, linked to its card."""
        return el("a", self.text, href=f"#{self.anchor}", class_="head")


@dataclass(frozen=True)
class Sentence:
    """One finding in at most 25 words, with at most two numbers that have intervals.

    Attributes:
        topic: its topic: position, special, noop, focus, roles, none, intervals ...
        parts: its text.
        kind: kind of attention; empty if it is about the model as a whole.
        goes_on: True if it adds to the preceding finding, such as a condition. It follows that finding in its
            paragraph, and never appears on the first screen.
        figure: its figure in the story; a sentence that names heads has a grid without it.
    """

    topic: str
    parts: tuple[str | HeadRef, ...]
    kind: str = ""
    goes_on: bool = False
    figure: SmallFigure | None = None

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


def sentence(topic: str, *parts: str | HeadRef, goes_on: bool = False, figure: SmallFigure | None = None) -> Sentence:
    """Return a sentence with a capital first letter; it `goes_on` if it adds to the preceding one."""
    first, *rest = parts
    if isinstance(first, HeadRef):
        first = HeadRef(first.kind, first.layer, first.head, capital(first.text))
    else:
        first = capital(first)
    return Sentence(topic, (first, *rest), goes_on=goes_on, figure=figure)


def continued(topic: str, *parts: str | HeadRef) -> Sentence:
    """Return a sentence that adds to the preceding one."""
    return sentence(topic, *parts, goes_on=True)


def numbered(kind: str, layer: int, head: int) -> HeadRef:
    """Return a reference to a head by its number only, for a list introduced by "heads"."""
    return HeadRef(kind, layer, head, head_label(layer, head))


def listed(refs: Iterable[HeadRef], *, most: int = MOST_LISTED) -> list[str | HeadRef]:
    """Return `1-3, 2-10 and 4-1`, or the first `most` and the number of the others."""
    every = list(refs)
    shown = every[:most]
    more = len(every) - len(shown)
    parts: list[str | HeadRef] = []
    for index, ref in enumerate(shown):
        if index:
            parts.append(" and " if index == len(shown) - 1 and not more else ", ")
        parts.append(ref)
    if more:
        parts.append(f" and {more:,} more")
    return parts


def measured(cell: Cell, statistic: str, *, long: bool = True) -> tuple[str, str]:
    """Return a value in words and its interval in brackets, `("98%", " (95% interval 97 to 98)")`.

    Both have the same number of decimals, so that rounding never puts a value outside its interval.
    """
    if not cell.has_interval:
        return amount(cell.value, statistic), ""
    ends = interval(cell.ci_low, cell.ci_high, statistic)
    value = amount(cell.value, statistic, interval_decimals(cell.ci_low, cell.ci_high))
    return value, f" (95% interval {ends})" if long else f" ({ends})"
