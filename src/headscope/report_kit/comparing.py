"""Two numbers measured on the same documents, compared: by the interval of their difference and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any, Literal

import pandas as pd

from headscope.report_kit.numbers import points
from headscope.report_kit.tables.cells import Cell, number, records

Verdict = Literal["more", "less", "same", "untested"]


@dataclass(frozen=True)
class Comparison:
    """One number less another with the 95% interval of the difference, in the unit of both; bounds NaN where untested.

    Whether two intervals overlap is never asked: on the same documents a difference can be sure while each of the two
    numbers is not.
    """

    difference: float
    low: float
    high: float

    @classmethod
    def of(cls, cell: Cell) -> Comparison:
        """Take a difference that a table holds as a number with its interval."""
        return cls(cell.value, cell.ci_low, cell.ci_high)

    @property
    def verdict(self) -> Verdict:
        """Whether the first is `more` or `less`, the whole interval; `same` where it cannot be told; or `untested`."""
        if isnan(self.low) or isnan(self.high):
            return "untested"
        return "more" if self.low > 0 else "less" if self.high < 0 else "same"

    def turned(self) -> Comparison:
        """Return the second less the first."""
        return Comparison(-self.difference, -self.high, -self.low)

    @property
    def bound(self) -> float:
        """How large the difference can be either way, by the interval."""
        return max(abs(self.low), abs(self.high))

    def points(self, *, signed: bool = True) -> str:
        """Return a difference of shares in points, `+3.4 points (1.7 to 5.2)`, or without an interval `+3.4 points`.

        Args:
            signed: with a plus where it is above 0.
        """
        value, low, high = (points(each) for each in (self.difference, self.low, self.high))
        sign = "+" if signed and self.difference > 0 else ""
        ends = "" if self.verdict == "untested" else f" ({low} to {high})"
        return f"{sign}{value} points{ends}"

    def at_most(self) -> str:
        """Return how far apart the two can be, `no difference larger than 1.2 points`."""
        return f"no difference larger than {points(self.bound)} points"


def compared(table: pd.DataFrame | None, **keys: Any) -> Comparison | None:
    """Read a comparison from a table of differences; None where it was not made.

    Args:
        table: one of `*_differences.parquet`, with `difference ci_low ci_high`.
        keys: columns and what they must be; None for null.
    """
    return next((comparison for _, comparison in comparisons(table, **keys)), None)


def comparisons(table: pd.DataFrame | None, **keys: Any) -> list[tuple[dict[str, Any], Comparison]]:
    """Read every comparison that has these keys, with its row."""
    return [
        (row, Comparison(number(row["difference"]), number(row["ci_low"]), number(row["ci_high"])))
        for row in records(table)
        if all(_same(row.get(name), wanted) for name, wanted in keys.items())
    ]


def _same(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return bool(pd.isna(value))
    return not pd.isna(value) and bool(value == wanted)
