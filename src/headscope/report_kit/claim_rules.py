"""The rules of `statistics.inference.worth_saying` for the numbers of tables: large shares, numbers above a bar."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import isnan

from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import Words
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LARGE_SHARE, TIMES_UNIFORM, apart, shown
from headscope.statistics.statistic_catalog import STATISTICS


def above(
    cells: Sequence[Cell], bars: float | Sequence[float] = 0.0, *, least: float = 0.0, documents: int = FEWEST_DOCUMENTS
) -> list[bool]:
    """Return True for each number of one kind that lies significantly above a bar, by at least the smallest size.

    Args:
        cells: every number that the sentence could be about.
        bars: the bar of each number, or one bar for all.
        least: the smallest size, a constant of `worth_saying`.
        documents: smallest number of documents behind the intervals.
    """
    every = [bars] * len(cells) if isinstance(bars, float) else bars
    gaps = [tuple(end - bar for end in (cell.value, cell.ci_low, cell.ci_high)) for cell, bar in zip(cells, every)]
    if not gaps:
        return []
    value, low, high = zip(*gaps, strict=True)
    return [bool(each) for each in shown(value, low, high, least=least, above=True, documents=documents)]


def below(
    cells: Sequence[Cell], bars: float | Sequence[float] = 0.0, *, least: float = 0.0, documents: int = FEWEST_DOCUMENTS
) -> list[bool]:
    """Return True for each number of one kind that lies significantly below a bar; arguments as for `above`."""
    negated = -bars if isinstance(bars, float) else [-bar for bar in bars]
    return above([turned(cell) for cell in cells], negated, least=least, documents=documents)


def stand_out(cells: Sequence[Cell], *, documents: int = FEWEST_DOCUMENTS) -> list[bool]:
    """Return True for each large share of one kind: above a quarter, and above twice the share of uniform attention.

    A share without an interval is compared by its value; a share that cannot occur is not large.
    """
    bars = [max(LARGE_SHARE, TIMES_UNIFORM * (0.0 if isnan(cell.uniform) else cell.uniform)) for cell in cells]
    tested = above(cells, bars, documents=documents)
    return [
        large if cell.has_interval else cell.value > bar for cell, bar, large in zip(cells, bars, tested, strict=True)
    ]


def standing_out(kind: Kind, statistic: str) -> list[tuple[int, int, Cell]]:
    """Return (layer, head, cell) of each head with a large share, among all heads of a kind."""
    every = list(kind.each(statistic))
    return list(compress(every, stand_out([cell for _, _, cell in every], documents=kind.documents)))


def layers_standing_out(kind: Kind, statistic: str) -> list[tuple[int, Cell]]:
    """Return (layer, mean) of each layer with a large mean share, among all layers of a kind."""
    every = kind.each_layer(statistic)
    return list(compress(every, stand_out([cell for _, cell in every], documents=kind.documents)))


def leading(cells: Sequence[Cell], *, least: float, most: int = 1) -> int:
    """Return the number of leading values that can be called the largest: each lies significantly above all others.

    Args:
        cells: the values in descending order.
        least: the smallest difference to the others, a constant of `worth_saying`.
        most: largest number to return.
    """

    def lead(number: int) -> bool:
        return all(
            apart(cell.value, cell.ci_low, other.value, other.ci_high, least=least)
            for cell in cells[:number]
            for other in cells[number:]
        )

    known = range(min(most, len(cells) - 1), 0, -1)
    return next((number for number in known if lead(number)), 0)


def turned(cell: Cell) -> Cell:
    """Return a number with its sign reversed, for a rule about the smallest."""
    return Cell(-cell.value, -cell.ci_high, -cell.ci_low, cell.uniform, cell.n)


def target(statistic: str, words: Words) -> str:
    """Return the target of a share, worded for a sentence."""
    return words.fill(STATISTICS[statistic].target)
