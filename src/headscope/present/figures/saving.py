"""Saving of figures: atomically, and with the same bytes for the same picture."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from headscope.present.figures.settling import settle
from headscope.present.figures.style import house_style
from headscope.storage.atomic import write_bytes

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
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # its fonts take a tenth of a second to import

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
