"""The rules of `statistics.inference.worth_saying` for the numbers of tables: what stands out, what is above a bar."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import isnan

from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import Words
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LARGE_SHARE, TIMES_UNIFORM, apart, shown
from headscope.statistics.statistic_catalog import STATISTICS


def above(
    cells: Sequence[Cell], bars: float | Sequence[float] = 0.0, *, least: float = 0.0, documents: int = FEWEST_DOCUMENTS
) -> list[bool]:
    """Return which numbers of one kind are shown to lie above a bar, by at least the smallest size.

    Args:
        cells: every number that the sentence could be about.
        bars: the bar of each, or of all.
        least: the smallest size, of `worth_saying`.
        documents: number of documents that the intervals are over, at least.
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
    """Return which numbers of one kind are shown to lie below a bar; as `above` takes them."""
    negated = -bars if isinstance(bars, float) else [-bar for bar in bars]
    return above([turned(cell) for cell in cells], negated, least=least, documents=documents)


def stand_out(cells: Sequence[Cell], *, documents: int = FEWEST_DOCUMENTS) -> list[bool]:
    """Return which shares of one kind are large: above a quarter, and above twice what uniform attention gives.

    A share without an interval is held to both as it is; one that cannot occur does not stand out.
    """
    bars = [max(LARGE_SHARE, TIMES_UNIFORM * (0.0 if isnan(cell.uniform) else cell.uniform)) for cell in cells]
    tested = above(cells, bars, documents=documents)
    return [
        large if cell.has_interval else cell.value > bar for cell, bar, large in zip(cells, bars, tested, strict=True)
    ]


def standing_out(kind: Kind, statistic: str) -> list[tuple[int, int, Cell]]:
    """Return (layer, head, cell) of each head whose share stands out, of all heads of a kind."""
    every = list(kind.each(statistic))
    return list(compress(every, stand_out([cell for _, _, cell in every], documents=kind.documents)))


def layers_standing_out(kind: Kind, statistic: str) -> list[tuple[int, Cell]]:
    """Return (layer, mean) of each layer whose mean share stands out, of all layers of a kind."""
    every = kind.each_layer(statistic)
    return list(compress(every, stand_out([cell for _, cell in every], documents=kind.documents)))


def leading(cells: Sequence[Cell], *, least: float, most: int = 1) -> int:
    """Return how many of the first numbers may be named as the largest: each is shown to lie above all others.

    Args:
        cells: in their order, the largest first.
        least: the smallest size by which they lie above, of `worth_saying`.
        most: how many may be named.
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
    """Return a number with its sign turned, for a rule about the smallest."""
    return Cell(-cell.value, -cell.ci_high, -cell.ci_low, cell.uniform, cell.n)


def target(statistic: str, words: Words) -> str:
    """Return what a share is on, as a sentence says it."""
    return words.fill(STATISTICS[statistic].target)
