"""CSV and TSV: a header, then one row per document; fields may be quoted and contain line ends."""

import csv
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from headscope.corpora.document import Document
from headscope.corpora.files import MAX_LINE, open_text, split_lines
from headscope.corpora.formats import TableFormat
from headscope.corpora.opening import source_name
from headscope.corpora.text.column import cell_documents, places_of
from headscope.errors import InputError


def _documents(
    path: str | Path, /, *, column: str | None, labels: str | None = None, separators: str, ending: str
) -> Iterator[Document]:
    name = source_name(path)
    lines = split_lines(open_text(path, expected=_EXPECTED), name=name)
    header = next((line for line in lines if line.strip()), "")
    # Programs write ; in CSV in locales whose numbers have a decimal comma.
    separator = max(separators, key=header.count)
    rows = _rows(chain([header], lines), name=name, separator=separator)
    columns = [each.strip() for each in next(rows, [])]
    index, of_labels = places_of(columns, column, labels, name=name)

    def cells() -> Iterator[tuple[int, str, dict[str, str]]]:
        for number, row in enumerate(rows, 1):
            if len(row) != len(columns):
                raise InputError(
                    f"{name}, row {number}: {len(row)} fields where the header names {len(columns)} columns; expected "
                    "as many (is a field with the separator in it not quoted?), or a text file that does not end in "
                    f"{ending}"
                )
            yield number, row[index], {} if of_labels is None else {columns[of_labels]: row[of_labels]}

    yield from cell_documents(cells(), name=name, column=columns[index])


def _rows(lines: Iterator[str], *, name: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows that are not empty.

    Raises:
        InputError: a quote is not closed, or a field is over 16 MiB.
    """
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    try:
        yield from (row for row in reader if row)
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.line_num}: {error}; expected fields parted by {_SAID[separator]}, in double quotes "
            "where they hold one, a quote inside written twice"
        ) from None


_SAID = {",": "commas", ";": "semicolons", "\t": "tabs"}
_EXPECTED = "a header that names the columns, and a row for each document"
CSV = TableFormat(
    expected=_EXPECTED,
    documents=partial(_documents, separators=",;", ending=".csv"),
    example=b'id,text\n1,The cat sat.\n2,"It\nslept."\n',
)
TSV = TableFormat(
    expected=_EXPECTED,
    documents=partial(_documents, separators="\t", ending=".tsv"),
    example=b"id\ttext\n1\tThe cat sat.\n2\tIt slept.\n",
)
