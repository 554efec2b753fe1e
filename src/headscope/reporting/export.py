"""Export of a study: its figures, the paper's tables and the run's own tables."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd

from headscope.analyses.for_report import drawings_of
from headscope.errors import OptionError, OutputError
from headscope.present.figures.saving import save
from headscope.present.figures.style import STYLES, WIDTHS, on_paper
from headscope.present.manifest import MANIFEST
from headscope.present.paper_table import PaperTable
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.option import choose
from headscope.storage.atomic import write_bytes
from headscope.storage.files import place_text
from headscope.storage.lock import place_held
from headscope.storage.places import check_contents

FORMS = ("pdf", "svg")
SCREEN = "screen"
SCREEN_FORMS = (*FORMS, "png")
FORMATS = ("csv", "latex", "xlsx")
WORKBOOK = "headscope.xlsx"
# Spreadsheets read a text with such a beginning as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_figures(study: Study, out: Path, *, columns: str, style: str | None = None) -> list[Path]:
    """Write every figure of a study into `out/figures-one`, `-two` or `-screen`, and return their paths.

    Args:
        study: a finished run.
        out: a folder; created if it does not exist, files of the same names in it are overwritten.
        columns: width as columns of a paper, as PDF and SVG: `one` or `two`. Text has 7 to 9 points, and figures higher
            than a page continue in `figure-1-2` and so on. Or `screen`: each figure's width in pages, as PDF, SVG
            and PNG.
        style: one of `STYLES`, which sets column widths and typeface; None means `plain` (3.3 and 6.9 inches).

    Raises:
        OptionError: another number of columns, or another style; or a style for `screen`.
        OutputError: `out` is a file, or the folder of a run, or another run writes there.
        InputError: a table's file is missing or changed.
    """
    if columns not in (*WIDTHS, SCREEN):
        raise OptionError(f"--figures is {columns!r}; expected {', '.join(WIDTHS)} (columns of a page) or {SCREEN}")
    if style is not None and columns == SCREEN:
        raise OptionError(f"--style applies to paper widths; leave it out with --figures {SCREEN}")
    paper = STYLES[choose("--style", style or "plain", tuple(STYLES))]
    check_export_folder(out)
    folder = out / f"figures-{columns}"
    forms = SCREEN_FORMS if columns == SCREEN else FORMS
    with place_held(folder), on_paper(paper.widths.get(columns), font=paper.font):
        drawings = drawings_of(Context.of(study))
        return sorted(path for file, draw in drawings.items() for path in save(draw(), folder, file, forms=forms))


def export(study: Study, out: Path, *, form: str) -> list[Path]:
    """Write a study's tables for other programs, each file atomically, and return their paths.

    Args:
        study: a finished run.
        out: a folder; created if it does not exist, files of the same names in it are overwritten.
        form: `csv`: the tables for a paper, `table-heads.csv` and so on, and every table of the run; `latex`: only the
            tables for a paper; `xlsx`: one workbook with a sheet for each of all these tables.

    Raises:
        OptionError: unknown format; LaTeX for a run without tables for a paper; or a table too long for a sheet.
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


Value = str | float | int | bool | None

MOST_ROWS = 1_048_576
LONGEST_TEXT = 32_767
LONGEST_NAME = 31
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_START = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# Characters that XML cannot represent.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def workbook_bytes(sheets: Mapping[str, tuple[Sequence[str], Iterable[Sequence[Value]]]]) -> bytes:
    """Return a workbook of some sheets; the same tables give the same bytes.

    A text stays a text even if it begins with `=`; None and numbers that are not finite leave their cell empty. Texts
    are cut at Excel's 32,767 characters, and characters that XML cannot represent become question marks.

    Args:
        sheets: titles of the columns, and rows, by sheet name (at most 31 characters); one sheet at least.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in _listing_parts(list(sheets)).items():
            _put(archive, path, content)
        for number, (titles, rows) in enumerate(sheets.values(), start=1):
            _put(archive, f"xl/worksheets/sheet{number}.xml", _sheet(titles, rows))
    return buffer.getvalue()


def _put(archive: zipfile.ZipFile, path: str, content: str) -> None:
    entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content.encode("utf-8"))


def _listing_parts(names: Sequence[str]) -> dict[str, str]:
    """Return the content of the workbook's files other than its sheets, by path."""
    numbers = range(1, len(names) + 1)
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>' for n in numbers
    )
    listed = "".join(f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>' for n, name in zip(numbers, names))
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    return {
        "[Content_Types].xml": f'{_START}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>{parts}</Types>',
        "_rels/.rels": f'{_START}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_START}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'{_START}<Relationships xmlns="{_PACKAGE}/relationships">{links}'
        "</Relationships>",
    }


def _sheet(titles: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    lines = "".join(f"<row>{''.join(map(_cell, cells))}</row>" for cells in (titles, *rows))
    return f'{_START}<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'


def _cell(value: Value) -> str:
    if value is None or (isinstance(value, float) and not abs(value) < float("inf")):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = escape(_UNWRITABLE.sub("?", value[:LONGEST_TEXT]))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
