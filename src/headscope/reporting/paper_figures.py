"""Export of a study's figures: for a paper, one or two columns wide, or for slides."""

from __future__ import annotations

from pathlib import Path

from headscope.declarations.option import choose
from headscope.errors import OptionError
from headscope.figures.paper import STYLES, WIDTHS
from headscope.report_kit.report_parts import Context
from headscope.reporting.export import check_export_folder
from headscope.reporting.parts import write_figures
from headscope.storage.lock import place_held
from headscope.study.study import Study

FORMS = ("pdf", "svg")
SCREEN = "screen"
SCREEN_FORMS = ("pdf", "png")
"""Formats for the screen; the SVG files are in the run's own folder."""


def export_figures(study: Study, out: Path, *, columns: str, style: str | None = None) -> list[Path]:
    """Write every figure of a study into `out/figures-one`, `-two` or `-screen`, and return their paths.

    Args:
        study: a finished run.
        out: a folder; created if it does not exist, files of the same names in it are overwritten.
        columns: width as columns of a paper, as PDF and SVG: `one` or `two`. Text has 7 to 9 points, and figures higher
            than a page continue in `figure-1-2` and so on. Or `screen`: the width in the run's own folder, as PNG and
            PDF.
        style: style of the paper, one of `STYLES`: its widths and its typeface; `plain` when None: 3.3 and 6.9 inches.

    Raises:
        OptionError: another number of columns, or another style; or a style for `screen`.
        OutputError: `out` is a file, or the folder of a run, or another run writes there.
        InputError: a table's file is missing or changed.
    """
    if columns not in (*WIDTHS, SCREEN):
        raise OptionError(f"--figures is {columns!r}; expected {', '.join(WIDTHS)} (columns of a page) or {SCREEN}")
    if style is not None and columns == SCREEN:
        raise OptionError(f"--style is of a paper; leave it out beside --figures {SCREEN}")
    paper = STYLES[choose("--style", style or "plain", tuple(STYLES))]
    check_export_folder(out)
    folder = out / f"figures-{columns}"
    with place_held(folder):
        forms = SCREEN_FORMS if columns == SCREEN else FORMS
        width = paper.widths.get(columns)
        return write_figures(Context.of(study), folder, width=width, font=paper.font, forms=forms)
