"""Results as a terminal shows them: lines, and tables of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table of text, the first column of which names the rows.

    Attributes:
        titles: of the columns.
        rows: their cells.
        words: titles of further columns of words, which stand on the left; numbers stand on the right.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str] = ()
