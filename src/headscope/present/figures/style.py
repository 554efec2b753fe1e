"""The style of figures: fonts, colors, sizes and labels; and the widths and typefaces of papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline

from headscope.palette import palette
from headscope.visible import LONGEST_TITLE, MOST_MARKS, cells, shorten, visible

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


__all__ = ["LONGEST_LABEL", "LONGEST_TITLE", "MOST_MARKS", "cells", "label", "shorten", "visible"]
LONGEST_LABEL = 17
INK = palette().page["ink"].light
SOFT = palette().page["soft"].light
LINE = palette().page["line"].light
TICK = palette().page["tick"].light
_WANTED_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Symbols2",
)
LEAST_MARK = 33.0
"""The size of the smallest mark, in square points: every shape of the palette is 5 pixels high on the page."""


def label(token: str, limit: int = LONGEST_LABEL) -> str:
    """Return a token as it is drawn: control characters visible, and at most `limit` columns wide."""
    return shorten(visible(token[: 8 * LONGEST_TITLE]), limit)


@cache
def _fonts() -> list[str]:
    """Return the installed fonts, the first for layout and the others for scripts that it lacks."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _WANTED_FONTS if name in installed] or ["sans-serif"]


@cache
def _defaults() -> dict[str, Any]:
    """Return matplotlib's own defaults, without a `matplotlibrc`, the caller's settings or window backends."""
    defaults: Any = mpl.rcParamsDefault
    return {name: value for name, value in defaults.items() if not name.startswith(("backend", "interactive"))}


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the style of all figures while a figure is built or written."""
    settings: dict[str, Any] = _defaults() | {
        "font.family": [name for name in (paper_font(), *_fonts()) if name],
        "font.size": 10,
        "text.color": INK,
        "text.parse_math": False,
        "axes.edgecolor": TICK,
        "axes.labelcolor": SOFT,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titlepad": 8,
        "axes.titley": 1.0,  # no axis of these figures is above its panel, where matplotlib would look for one
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.linewidth": 0.8,
        "axes.grid": False,
        "grid.color": LINE,
        "grid.linewidth": 0.8,
        "xtick.color": TICK,
        "ytick.color": TICK,
        "xtick.labelcolor": SOFT,
        "ytick.labelcolor": SOFT,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,  # conferences refuse the bitmapped-like type 3
        "svg.hashsalt": "headscope",
        "path.simplify": False,
    }
    if paper_width() is not None:
        settings |= {"font.size": 8, "axes.titlesize": 9, "axes.titlepad": 5}
    with mpl.rc_context(settings):  # type: ignore[arg-type]
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of `width` x `height` inches, laid out with no label cut; as wide as the paper, if any."""
    return Figure(figsize=(paper_width() or width, height), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """Return the figure that an axes belongs to, even if it lies in a sub-figure."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("Expected an axes that belongs to a figure, got one that was removed; make a new one.")
    return figure


def role_color(role: str) -> str:
    """Return the line color of a role on white (`data/palette.json`), or ink for a role that the palette lacks."""
    style = palette().roles.get(role)
    return INK if style is None else style.line.light


@cache
def role_outline(role: str) -> Outline:
    """Return a role's shape as a marker, centered on 0 and y up; a dot for a role that the palette lacks."""
    style = palette().roles.get(role)
    return _outline(style.shape) if style else Outline.circle((0, 0), 0.5)


def _outline(shape: str) -> Outline:
    """Convert the palette's `M x y L x y ... Z` to a path of unit height."""
    vertices: list[tuple[float, float]] = []
    codes: list[np.uint8] = []
    for command, numbers in re.findall(r"([MLZ])([^MLZ]*)", shape):
        if command == "Z":
            vertices.append(vertices[-1])
            codes.append(Outline.CLOSEPOLY)
            continue
        x, y = (float(number) for number in numbers.split())
        vertices.append(((x - 5) / 10, (5 - y) / 10))
        codes.append(Outline.MOVETO if command == "M" else Outline.LINETO)
    return Outline(np.array(vertices), codes)


_ON = ("#000000", "#fefefe")  # not the page's own colors: viridis is the same in both schemes


def layer_color(layer: int, layers: int) -> str:
    """Return a layer's color, the first dark and the last bright (`palette().layers`), as `#rrggbb`."""
    share = (layer - 1) / (layers - 1) if layers > 1 else 0.0
    return str(to_hex(mpl.colormaps[palette().layers](share)))


def on_layer(color: str) -> str:
    """Return the color of text on a layer's color: dark or light, whichever has more contrast."""
    return max(_ON, key=lambda ink: contrast(ink, color))


def contrast(color: str, other: str) -> float:
    """Return the contrast of two `#rrggbb` colors as WCAG 2 defines it, 1 to 21."""
    low, high = sorted((_luminance(color), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
