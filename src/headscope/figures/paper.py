"""Figures for a paper: as wide as one of its columns or as two, in its type, with text of 7 to 9 points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

# Drawn like Times, in which these papers are set; matplotlib brings it, so that figures are the same everywhere.
_TIMES = "STIXGeneral"


@dataclass(frozen=True, kw_only=True)
class PaperStyle:
    """What figures of a paper have in common.

    Attributes:
        column, page: inches across one column and across the whole text; equal where there is one column.
        font: of the text; empty for the sans-serif of pages.
    """

    column: float
    page: float
    font: str = ""

    @property
    def widths(self) -> Mapping[str, float]:
        """Inches by what the columns are called."""
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
"""As high as a page; what does not fit goes on the next."""
LEAST_POINTS, MOST_POINTS = 7.0, 9.0
"""The smallest and largest text in a paper; text that is smaller or larger on a web page is set to the nearer one."""
NARROW = 4.5
"""Below this many inches long names are broken into lines, and keys stand below what they explain."""

_WIDTH: ContextVar[float | None] = ContextVar("paper_width", default=None)
_FONT: ContextVar[str] = ContextVar("paper_font", default="")


@contextmanager
def on_paper(width: float | None, *, font: str = "") -> Iterator[None]:
    """Make every new figure `width` inches across while the block runs; None: as wide as it likes.

    Args:
        width: in inches.
        font: of its text; empty for the sans-serif of pages.
    """
    before, font_before = _WIDTH.set(width), _FONT.set(font)
    try:
        yield
    finally:
        _WIDTH.reset(before)
        _FONT.reset(font_before)


def paper_font() -> str:
    """Return the font of figures, empty for that of pages."""
    return _FONT.get()


def paper_width() -> float | None:
    """Return how wide figures are to be, in inches; None where they may choose."""
    return _WIDTH.get()


def narrow() -> bool:
    """Whether a figure is to be as wide as one column."""
    width = paper_width()
    return width is not None and width < NARROW


def across(number: int, *, each: float) -> int:
    """Return how many panels of at least `each` inches stand side by side: all `number`, where the width is free."""
    width = paper_width()
    return number if width is None else max(min(number, int(width / each + 1e-9)), 1)


def panel_inches(columns: int, *, free: float) -> float:
    """Return how wide one of `columns` panels is, in inches: `free` where the width is free, and at most that."""
    width = paper_width()
    return free if width is None else min(free, width / columns)
