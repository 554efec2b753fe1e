"""Writing figures and pages: whole or not at all, and the same bytes for the same picture."""

from __future__ import annotations

import io
import os
import re
import tempfile
import warnings
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from headscope.figures.style import look

DOTS_PER_INCH = 200


def write_whole(path: Path, content: bytes) -> Path:
    """Write `content` to a temporary file beside `path`, then rename it: a reader never sees half a file.

    Raises:
        OSError: nothing could be written; the temporary file is removed and `path` is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)  # mkstemp's 0600 would keep a colleague from opening the file
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with text as text, without a date: the same figure gives the same string."""
    buffer = io.StringIO()
    with look(), warnings.catch_warnings():
        _quiet_about_glyphs()
        FigureCanvasSVG(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _short, tag.group()), buffer.getvalue())


def _short(number: re.Match[str]) -> str:
    """Hundredths of a point are finer than any screen; a third of the file goes."""
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG on white, 200 dots an inch."""
    buffer = io.BytesIO()
    with look(), warnings.catch_warnings():
        _quiet_about_glyphs()
        FigureCanvasAgg(figure)
        figure.savefig(
            buffer, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None}
        )
    return buffer.getvalue()


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write `folder/name.svg` and `folder/name.png`, each whole or not at all, and return both paths."""
    svg = write_whole(folder / f"{name}.svg", svg_text(figure).encode("utf-8"))
    png = write_whole(folder / f"{name}.png", png_bytes(figure))
    return svg, png


def _quiet_about_glyphs() -> None:
    """A token in a script without a font here draws as a box in the PNG; the SVG leaves it to the reader's fonts."""
    warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
