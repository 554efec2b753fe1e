"""The small figure beside a sentence of the story: the head grid with what it speaks of, or a few bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import SupportsFloat

from headscope.views.markup import Html, el

CELL, STEP = 8, 10
SMALLEST_GRID, LEAST_CELL = 84, 5
"""Pixels: the least width of a grid, and of a cell."""
MOST_DRAWN = 512
"""Of a kind with more heads no grid is drawn: its cells could not be seen."""


@dataclass(frozen=True)
class Shades:
    """How much of something each head has, from 0 to 1, layer by layer: the grid's cells are as full; none of any."""

    amounts: tuple[float, ...] = ()


@dataclass(frozen=True)
class Bars:
    """Values side by side, each with its label and as it is written; the longest bar is the largest value."""

    rows: tuple[tuple[str, float, str], ...]


SmallFigure = Shades | Bars


def shades(amounts: Iterable[SupportsFloat]) -> Shades:
    """Return how full the cells of a kind's heads are, layer by layer; what is no number is empty."""
    numbers = (float(amount) for amount in amounts)
    return Shades(tuple(round(min(max(each, 0.0), 1.0), 3) if isfinite(each) else 0.0 for each in numbers))


def grid(layers: int, heads: int, amounts: Sequence[float], named: Iterable[tuple[int, int]] = ()) -> Html:
    """Draw a head grid, hidden from those who hear the page: the sentence beside it says what it shows.

    Args:
        layers: rows.
        heads: columns.
        amounts: how full each cell is, row by row; none for an empty grid.
        named: (layer, head) of the heads that the sentence names, 1-based: full, or with an edge where there are
            amounts.
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
    """Draw values as bars; those who hear the page read labels and values."""
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
