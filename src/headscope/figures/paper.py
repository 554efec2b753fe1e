"""Figures for a paper: as wide as one of its columns or as two, with text of 7 to 9 points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

WIDTHS: Mapping[str, float] = MappingProxyType({"one": 3.3, "two": 6.9})
"""Inches across one column and across two, of the usual two-column page."""
PAGE_INCHES = 9.2
"""As high as a page; what does not fit goes on the next."""
LEAST_POINTS, MOST_POINTS = 7.0, 9.0
"""The smallest and largest text in a paper; text that is smaller or larger on a web page is set to the nearer one."""
NARROW = 4.5
"""Below this many inches long names are broken into lines, and keys stand below what they explain."""

_WIDTH: ContextVar[float | None] = ContextVar("paper_width", default=None)


@contextmanager
def on_paper(width: float | None) -> Iterator[None]:
    """Make every new figure `width` inches across while the block runs; None: as wide as it likes."""
    before = _WIDTH.set(width)
    try:
        yield
    finally:
        _WIDTH.reset(before)


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
