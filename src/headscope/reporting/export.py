"""Export of a study for other programs: the paper's tables and the run's own, as CSV, LaTeX or one Excel workbook."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headscope.declarations.analysis_list import ANALYSES
from headscope.errors import OptionError, OutputError
from headscope.storage.atomic import write_bytes
from headscope.storage.files import place_text
from headscope.storage.lock import place_held
from headscope.storage.places import check_contents
from headscope.storage.workbook import LONGEST_NAME, MOST_ROWS, Value, workbook_bytes
from headscope.study.manifest import MANIFEST
from headscope.study.paper_table import PaperTable
from headscope.study.study import Study

FORMATS = ("csv", "latex", "xlsx")
WORKBOOK = "headscope.xlsx"
# Spreadsheets read a text with such a beginning as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(study: Study, out: Path, *, form: str) -> list[Path]:
    """Write a study's tables for other programs, each file atomically, and return their paths.

    Args:
        study: a finished run.
        out: a folder; created if it does not exist, files of the same names in it are overwritten.
        form: `csv`: the tables for a paper, `table-heads.csv` and so on, and every table of the run; `latex`: only the
            tables for a paper; `xlsx`: one workbook with a sheet for each of all these tables.

    Raises:
        OptionError: another format; or LaTeX for a run without tables for a paper.
        OutputError: `out` is a file, or the folder of a run.
        InputError: a table's file is missing or changed.
    """
    if form not in FORMATS:
        raise OptionError(f"--format is {form!r}; expected one of {', '.join(FORMATS)}")
    check_export_folder(out)
    paper = study.paper_tables()
    if form == "latex":
        if not paper:
            named = ", ".join(analysis.name for analysis in ANALYSES if analysis.paper)
            raise OptionError(
                f"{study.path} fills no table for a paper, which are of {named}; run headscope report, or take "
                "--format csv"
            )
        return [_text(out / f"{table.name}.tex", table.to_latex()) for table in paper]
    if form == "csv":
        return [_text(out / f"{name}.csv", _csv(frame)) for name, frame in _frames(study, paper)]
    return [_workbook(out / WORKBOOK, _frames(study, paper))]


def check_export_folder(out: Path) -> None:
    """Check that a folder can hold the files of an export.

    Raises:
        OutputError: `out` is a file, the folder of a run, or contains a link to another folder.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out expects a folder, new or not")
    check_contents(out)
    if (out / MANIFEST).exists():
        raise OutputError(f"{out} holds a run; give --out a folder of its own, such as {out / 'export'}")


def _frames(study: Study, paper: list[PaperTable]) -> Iterator[tuple[str, pd.DataFrame]]:
    yield from ((table.name, table.frame) for table in paper)
    yield from study.tables.items()


def _text(path: Path, content: str) -> Path:
    place_text(path, content)
    return path


def _csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV, with lists as JSON, and an apostrophe before text that spreadsheets read as a formula."""
    plain = frame.copy()
    for name in plain.columns:
        if not pd.api.types.is_numeric_dtype(plain[name]):
            plain[name] = [_shielded(_value(value)) for value in plain[name]]
    return plain.to_csv(index=False, lineterminator="\n")


def _shielded(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _workbook(path: Path, frames: Iterator[tuple[str, pd.DataFrame]]) -> Path:
    sheets: dict[str, tuple[list[str], list[list[Value]]]] = {}
    for name, frame in frames:
        if len(frame) >= MOST_ROWS:
            raise OptionError(f"{name} has {len(frame):,} rows, and a sheet holds {MOST_ROWS - 1:,}; take --format csv")
        rows = [[_value(value) for value in row] for row in frame.itertuples(index=False, name=None)]
        sheets[name[:LONGEST_NAME]] = ([str(title) for title in frame.columns], rows)
    with place_held(path):
        write_bytes(path, workbook_bytes(sheets))
    return path


def _value(value: Any) -> Value:
    """Convert a cell of a table to a plain number or text; a list becomes JSON."""
    if isinstance(value, np.ndarray | list | tuple):
        return json.dumps(np.asarray(value).tolist(), ensure_ascii=False)
    if value is None or pd.isna(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float) else str(plain)
