"""Results as a terminal shows them: lines, and tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes:
        columns: name and side (`left`, `right`) of each.
        rows: their cells.
    """

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
