"""Rules for claims: large shares, numbers above a bar, and comparisons by the interval of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import isnan
from typing import Any, Literal

import pandas as pd

from headscope.present.cells import Cell, number, records
from headscope.present.kinds import Kind
from headscope.present.numbers import points
from headscope.present.words import Words
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LARGE_SHARE, LEAST_SHARE, TIMES_UNIFORM, apart, shown
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


Verdict = Literal["more", "less", "same", "untested"]


@dataclass(frozen=True)
class Comparison:
    """The difference of two numbers with its 95% interval, in the unit of both; bounds are NaN if it was not tested.

    Overlap of the two intervals is never used: on the same documents a difference can be certain while each of the two
    numbers is not.
    """

    difference: float
    low: float
    high: float

    @classmethod
    def of(cls, cell: Cell) -> Comparison:
        """Build a comparison from a difference that a table stores as a number with its interval."""
        return cls(cell.value, cell.ci_low, cell.ci_high)

    @property
    def is_tested(self) -> bool:
        """True if there were enough documents for an interval."""
        return not (isnan(self.low) or isnan(self.high))

    def turned(self) -> Comparison:
        """Return the second number minus the first."""
        return Comparison(-self.difference, -self.high, -self.low)

    @property
    def bound(self) -> float:
        """Largest absolute difference within the interval."""
        return max(abs(self.low), abs(self.high))

    def points(self, *, signed: bool = True) -> str:
        """Return a difference of shares in points, `+3.4 points (1.7 to 5.2)`, or without an interval `+3.4 points`.

        Args:
            signed: True to write a plus sign above 0.
        """
        value, low, high = (points(each) for each in (self.difference, self.low, self.high))
        sign = "+" if signed and self.difference > 0 else ""
        ends = f" ({low} to {high})" if self.is_tested else ""
        return f"{sign}{value} points{ends}"

    def at_most(self) -> str:
        """Return the bound in words, `no difference larger than 1.2 points`, at least the smallest size."""
        return f"no difference larger than {points(max(self.bound, LEAST_SHARE))} points"


def verdicts(gaps: Sequence[Comparison], *, least: float, documents: int = FEWEST_DOCUMENTS) -> list[Verdict]:
    """Return the verdict on each of several differences of one kind.

    Args:
        gaps: every difference that the sentence could be about.
        least: the smallest size, a constant of `worth_saying`.
        documents: smallest number of documents behind the intervals.

    Returns:
        `more` or `less` for a difference that is significant and at least `least`, `same` for others, or `untested`.
    """
    ends = ([getattr(gap, end) for gap in gaps] for end in ("difference", "low", "high"))
    is_shown = shown(*ends, least=least, documents=documents)
    return [
        "untested" if not gap.is_tested else "same" if not large else "more" if gap.difference > 0 else "less"
        for gap, large in zip(gaps, is_shown, strict=True)
    ]


def compared(table: pd.DataFrame | None, **keys: Any) -> Comparison | None:
    """Read a comparison from a table of differences; None if the table does not have it.

    Args:
        table: one of `*_differences.parquet`, with `difference ci_low ci_high`.
        keys: columns and their required values; None for null.
    """
    return next((comparison for _, comparison in comparisons(table, **keys)), None)


def comparisons(table: pd.DataFrame | None, **keys: Any) -> list[tuple[dict[str, Any], Comparison]]:
    """Read every comparison with these keys, together with its row."""
    return [
        (row, Comparison(number(row["difference"]), number(row["ci_low"]), number(row["ci_high"])))
        for row in records(table)
        if all(_same(row.get(name), wanted) for name, wanted in keys.items())
    ]


def _same(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return bool(pd.isna(value))
    return not pd.isna(value) and bool(value == wanted)
