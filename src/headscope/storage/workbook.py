"""Tables as an Excel workbook, written with the standard library alone: sheets of numbers and texts, never formulas."""

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr

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
        sheets: titles of the columns, and rows, by sheet name (at most 31 characters).

    Raises:
        ValueError: no sheet was given, a name is too long, or a sheet has too many rows.
    """
    if not sheets:
        raise ValueError("expected at least one sheet, got none")
    for name in sheets:
        if not 0 < len(name) <= LONGEST_NAME:
            raise ValueError(f"expected names of 1 to {LONGEST_NAME} characters for sheets, got {name!r}")
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in _frame_of(list(sheets)).items():
            _put(archive, path, content)
        for number, (titles, rows) in enumerate(sheets.values(), start=1):
            _put(archive, f"xl/worksheets/sheet{number}.xml", _sheet(titles, rows))
    return buffer.getvalue()


def _put(archive: zipfile.ZipFile, path: str, content: str) -> None:
    entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content.encode("utf-8"))


def _frame_of(names: Sequence[str]) -> dict[str, str]:
    """Return the parts of the workbook that list its sheets."""
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
    lines = [_row(list(titles))]
    for row in rows:
        lines.append(_row(row))
        if len(lines) > MOST_ROWS:
            raise ValueError(f"expected at most {MOST_ROWS - 1:,} rows, which is all that a sheet holds")
    return f'{_START}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def _row(cells: Sequence[Value]) -> str:
    return f"<row>{''.join(_cell(value) for value in cells)}</row>"


def _cell(value: Value) -> str:
    if value is None or (isinstance(value, float) and not abs(value) < float("inf")):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = escape(_UNWRITABLE.sub("?", value[:LONGEST_TEXT]))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
