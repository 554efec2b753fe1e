"""Comparison of two numbers measured on the same documents, only by the interval of their difference.

`statistics.inference.worth_saying` decides if a difference gets a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Literal

import pandas as pd

from headscope.report_kit.numbers import points
from headscope.report_kit.tables.cells import Cell, number, records
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_SHARE, shown

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
