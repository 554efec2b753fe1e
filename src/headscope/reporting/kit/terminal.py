"""Results as a terminal shows them: lines, and tables of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes:
        columns: name and side (`left`, `right`) of each.
        rows: their cells.
    """

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]


def percent_or_hyphen(value: float) -> str:
    """Write a share in percent without its sign, and what is not known as a hyphen: terminals may not have a dash."""
    return "-" if isnan(value) else f"{100 * value:.1f}"


def interval_or_hyphen(row: Mapping[Any, Any], prefix: str = "") -> str:
    """Write a row's interval in percent, `72.9 to 77.4`, a hyphen for none."""
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    return "-" if isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}"


def nats_to_four(value: float) -> str:
    """Write a divergence with four digits after the point, a digit more than the page; small ones with three."""
    return f"{value:.4f}" if abs(value) >= 0.01 or value == 0 else f"{value:.3g}"
