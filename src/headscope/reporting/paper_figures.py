"""A study's figures for a paper: each as wide as a column of a page or two, as PDF and SVG."""

from __future__ import annotations

from pathlib import Path

from headscope.errors import OptionError
from headscope.figures.paper import WIDTHS
from headscope.reporting.from_study import measured_in
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.parts import write_figures
from headscope.storage.lock import place_held
from headscope.study.export import check_place
from headscope.study.study import Study

FORMS = ("pdf", "svg")


def export_figures(study: Study, out: Path, *, columns: str) -> list[Path]:
    """Write every figure of a study for a paper into `out/figures-one` or `-two`, and return their paths.

    Args:
        study: a finished run.
        out: a folder; made where there is none, files of the same names in it are written over.
        columns: `one`: 3.3 inches across, or `two`: 6.9. Text has 7 to 9 points, and what is higher than a page goes on
            in `figure-1-2` and on.

    Raises:
        OptionError: another number of columns.
        OutputError: `out` is a file, or the folder of a run, or another run writes there.
        InputError: a table's file is gone or changed.
    """
    if columns not in WIDTHS:
        raise OptionError(
            f"--figures is {columns!r}; expected one of {', '.join(WIDTHS)} (columns of a page)"
        )
    check_place(out)
    folder = out / f"figures-{columns}"
    with place_held(folder):
        return write_figures(Context.of(measured_in(study)), folder, width=WIDTHS[columns], forms=FORMS)
