"""Results for a terminal: lines, and tables of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table of text, the first column of which names the rows.

    Attributes:
        titles: titles of the columns.
        rows: cells of the rows.
        words: titles of further columns of words, which are left-aligned; numbers are right-aligned.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str] = ()
