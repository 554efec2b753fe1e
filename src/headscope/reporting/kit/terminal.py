"""Results as a terminal shows them: lines, and tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes:
        columns: name and side (`left`, `right`) of each.
        rows: their cells.
    """

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]


def percent(value: float) -> str:
    """Write a share as percent, and what is not known as a dash."""
    return "-" if value != value else f"{100 * value:.1f}"


def interval(row: pd.Series[Any] | dict[Any, Any], prefix: str = "") -> str:
    """Write a row's interval in percent."""
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    return "-" if low != low else f"{100 * low:.1f} to {100 * high:.1f}"


def q_value(value: float) -> str:
    """Write a q with three digits, and that nothing was tested in words."""
    return "not tested" if value != value else "<0.001" if value < 0.001 else f"{value:.3f}"
