"""Files of figures, and figures for a paper: one or two columns wide, with text of 7 to 9 points."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from headscope.figures.settling import settle
from headscope.figures.style import house_style
from headscope.storage.atomic import write_bytes

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


DOTS_PER_INCH = 200


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with text as text, without a date: the same figure gives the same string."""
    svg = _written(figure, FigureCanvasSVG, "svg", without=("Date", "Creator")).decode("utf-8")
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _short, tag.group()), svg)


def _short(number: re.Match[str]) -> str:
    """Round to hundredths of a point, finer than any screen; this shrinks the file by a third."""
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG on white, 200 dots an inch."""
    on_white: dict[str, Any] = {"dpi": DOTS_PER_INCH, "facecolor": "white"}
    return _written(figure, FigureCanvasAgg, "png", without=("Software",), **on_white)


def pdf_bytes(figure: Figure) -> bytes:
    """Return a figure as PDF for a paper, its text as text (TrueType), without a date."""
    return _written(figure, FigureCanvasPdf, "pdf", without=("CreationDate", "Producer", "Creator"))


def _written(
    figure: Figure, canvas: type[FigureCanvasBase], form: str, *, without: Sequence[str], **options: Any
) -> bytes:
    """Draw a figure on a canvas, without metadata on date and program."""
    buffer = io.BytesIO()
    with house_style(), warnings.catch_warnings():
        # A token in a script without a font here is a box in the PNG; in the SVG the reader's fonts are used.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        canvas(figure)
        if form == "svg" and (layout := figure.get_layout_engine()) is not None:
            # Without this the figure is drawn twice: matplotlib lays it out in a separate drawing.
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format=form, metadata=dict.fromkeys(without), **options)
    return buffer.getvalue()


FORMS: Mapping[str, Callable[[Figure], bytes]] = {
    "svg": lambda figure: svg_text(figure).encode("utf-8"),
    "png": png_bytes,
    "pdf": pdf_bytes,
}


def save(figure: Figure, folder: Path, name: str, *, forms: Sequence[str] = ("svg", "png", "pdf")) -> tuple[Path, ...]:
    """Write `folder/name.svg`, `.png` and `.pdf`, each atomically, and return their paths.

    The labels are separated once (`settle`), and every format is then drawn with that layout.
    """
    settle(figure)
    paths = tuple(folder / f"{name}.{form}" for form in forms)
    for form, path in zip(forms, paths):
        write_bytes(path, FORMS[form](figure))
    return paths
