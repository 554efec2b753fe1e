"""A sentence of the report, with references to heads that a page links, and the small figure next to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import SupportsFloat

from headscope.attention.head_id import head_anchor, head_label
from headscope.present.cells import Cell
from headscope.present.numbers import amount, interval, interval_decimals
from headscope.present.words import capital
from headscope.views.markup import Html, el

CELL, STEP = 8, 10
SMALLEST_GRID, LEAST_CELL = 84, 5
"""Smallest width of a grid and of a cell, in pixels."""
MOST_DRAWN = 512
"""Largest number of heads of a kind for which a grid is drawn: smaller cells would be invisible."""


@dataclass(frozen=True)
class Shades:
    """The amount of a quantity for each head, from 0 to 1, layer by layer, drawn as the fill of grid cells."""

    amounts: tuple[float, ...] = ()


@dataclass(frozen=True)
class Bars:
    """Values side by side, each with its label and its text; the longest bar is the largest value."""

    rows: tuple[tuple[str, float, str], ...]


SmallFigure = Shades | Bars


def shades(amounts: Iterable[SupportsFloat]) -> Shades:
    """Return the fill of the cells of a kind's heads, layer by layer; NaN and infinity give an empty cell."""
    numbers = (float(amount) for amount in amounts)
    return Shades(tuple(round(min(max(each, 0.0), 1.0), 3) if isfinite(each) else 0.0 for each in numbers))


def grid(layers: int, heads: int, amounts: Sequence[float], named: Iterable[tuple[int, int]] = ()) -> Html:
    """Draw a head grid, hidden from screen readers: the sentence next to it says the same.

    Args:
        layers: number of rows.
        heads: number of columns.
        amounts: fill of each cell, row by row; empty for a grid without fills.
        named: (layer, head) of the heads that the sentence names, 1-based: filled, or outlined if `amounts` are given.
    """
    named_cells = set(named)
    cells = []
    for layer in range(1, layers + 1):
        for head in range(1, heads + 1):
            box = {"x": (head - 1) * STEP, "y": (layer - 1) * STEP, "width": CELL, "height": CELL, "rx": 1}
            is_named = (layer, head) in named_cells
            amount = amounts[(layer - 1) * heads + head - 1] if amounts else float(is_named)
            cells.append(el("rect", **box))
            if amount:
                cells.append(el("rect", **box, class_="on", opacity=None if amount == 1 else amount))
            if amounts and is_named:
                cells.append(el("rect", **box, class_="named"))
    size = f"-1 -1 {heads * STEP} {layers * STEP}"
    width = f"width:{max(SMALLEST_GRID, LEAST_CELL * heads * STEP / CELL):g}px"
    return el("svg", cells, class_="small-grid", viewBox=size, style=width, aria_hidden="true")


def bars(figure: Bars) -> Html:
    """Draw values as bars; screen readers read labels and values."""
    largest = max((value for _, value, _ in figure.rows), default=0.0)
    return el(
        "span",
        [
            el(
                "span",
                el("span", label),
                el("i", style=f"width:{100 * max(value, 0.0) / largest if largest > 0 else 0:.0f}%"),
                el("span", written),
                class_="small-bar",
            )
            for label, value, written in figure.rows
        ],
        class_="small-bars",
    )


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
