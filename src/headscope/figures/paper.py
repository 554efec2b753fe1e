"""Figures for a paper: one or two columns wide, in the paper's typeface, with text of 7 to 9 points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

# A typeface like Times, in which these papers are set; it ships with matplotlib, so figures are the same everywhere.
_TIMES = "STIXGeneral"


@dataclass(frozen=True, kw_only=True)
class PaperStyle:
    """Common settings of a paper's figures.

    Attributes:
        column, page: inches across one column and across the whole text; equal if there is one column.
        font: typeface of the text; empty for the sans-serif of pages.
    """

    column: float
    page: float
    font: str = ""

    @property
    def widths(self) -> Mapping[str, float]:
        """Width in inches by number of columns."""
        return MappingProxyType({"one": self.column, "two": self.page})


STYLES: Mapping[str, PaperStyle] = MappingProxyType(
    {
        "plain": PaperStyle(column=3.3, page=6.9),
        "neurips": PaperStyle(column=5.5, page=5.5, font=_TIMES),
        "acl": PaperStyle(column=3.03, page=6.3, font=_TIMES),
    }
)
WIDTHS = STYLES["plain"].widths
"""Inches across one column and across two, of the usual two-column page."""
PAGE_INCHES = 9.2
"""Height of a page in inches; a longer figure continues on the next page."""
LEAST_POINTS, MOST_POINTS = 7.0, 9.0
"""The smallest and largest text in a paper; smaller or larger text of a web page is set to the nearer limit."""
NARROW = 4.5
"""Width in inches below which long names are broken into lines and legends are placed below their panels."""

_WIDTH: ContextVar[float | None] = ContextVar("paper_width", default=None)
_FONT: ContextVar[str] = ContextVar("paper_font", default="")


@contextmanager
def on_paper(width: float | None, *, font: str = "") -> Iterator[None]:
    """Set the width of every new figure inside the block; None leaves the width free.

    Args:
        width: width in inches.
        font: typeface of the text; empty for the sans-serif of pages.
    """
    before, font_before = _WIDTH.set(width), _FONT.set(font)
    try:
        yield
    finally:
        _WIDTH.reset(before)
        _FONT.reset(font_before)


def paper_font() -> str:
    """Return the typeface of figures, empty for the pages' own."""
    return _FONT.get()


def paper_width() -> float | None:
    """Return the required width of figures in inches; None if the width is free."""
    return _WIDTH.get()


def narrow() -> bool:
    """Return True if figures are one column wide."""
    width = paper_width()
    return width is not None and width < NARROW


def across(number: int, *, each: float) -> int:
    """Return the number of panels of at least `each` inches that fit side by side; `number` if the width is free."""
    width = paper_width()
    return number if width is None else max(min(number, int(width / each + 1e-9)), 1)


def panel_inches(columns: int, *, free: float) -> float:
    """Return the width of one of `columns` panels in inches: `free` if the width is free, otherwise at most that."""
    width = paper_width()
    return free if width is None else min(free, width / columns)
