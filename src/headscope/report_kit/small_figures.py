"""The small figure next to a sentence of the story: a grid of the heads that it describes, or a few bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import SupportsFloat

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
