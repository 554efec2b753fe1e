"""Writing figures: whole or not at all, and the same bytes for the same picture."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from headscope.figures.settling import settle
from headscope.figures.style import house_style
from headscope.storage.atomic import write_bytes

DOTS_PER_INCH = 200


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with text as text, without a date: the same figure gives the same string."""
    buffer = io.StringIO()
    with house_style(), warnings.catch_warnings():
        _quiet_about_glyphs()
        FigureCanvasSVG(figure)
        if (layout := figure.get_layout_engine()) is not None:
            # Without this the figure is drawn twice: matplotlib lays it out in a separate drawing.
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _short, tag.group()), buffer.getvalue())


def _short(number: re.Match[str]) -> str:
    """Hundredths of a point are finer than any screen; a third of the file goes."""
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG on white, 200 dots an inch."""
    buffer = io.BytesIO()
    with house_style(), warnings.catch_warnings():
        _quiet_about_glyphs()
        FigureCanvasAgg(figure)
        figure.savefig(
            buffer, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None}
        )
    return buffer.getvalue()


def pdf_bytes(figure: Figure) -> bytes:
    """Return a figure as PDF for a paper, its text as text (TrueType), without a date."""
    buffer = io.BytesIO()
    with house_style(), mpl.rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        _quiet_about_glyphs()
        FigureCanvasPdf(figure)
        figure.savefig(
            buffer, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None}
        )
    return buffer.getvalue()


FORMS: Mapping[str, Callable[[Figure], bytes]] = {
    "svg": lambda figure: svg_text(figure).encode("utf-8"),
    "png": png_bytes,
    "pdf": pdf_bytes,
}


def save(
    figure: Figure, folder: Path, name: str, *, forms: Sequence[str] = ("svg", "png", "pdf")
) -> tuple[Path, ...]:
    """Write `folder/name.svg`, `.png` and `.pdf`, each whole or not at all, and return their paths.

    Their labels are brought apart once (`settle`), and every form is then drawn as it lies.
    """
    settle(figure)
    paths = tuple(folder / f"{name}.{form}" for form in forms)
    for form, path in zip(forms, paths):
        write_bytes(path, FORMS[form](figure))
    return paths


def _quiet_about_glyphs() -> None:
    """A token in a script without a font here draws as a box in the PNG; the SVG leaves it to the reader's fonts."""
    warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
