"""Tables with a column of text, one whole document per cell: CSV, TSV and Parquet."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.files import MAX_LINE, open_text, split_lines
from headscope.corpora.formats import Format
from headscope.corpora.opening import is_pipe, other_than_file, source_name, unreadable
from headscope.corpora.plain import NumberedTexts, whole_documents
from headscope.errors import InputError
from headscope.visible import printable, shorten

_MOST_NAMED, _LONGEST_NAME = 30, 60  # columns that an error lists, and characters of a name
_ROWS = 512  # rows in memory at once
_ALWAYS_READ = 64 << 20  # bytes of a column in a group of rows that are accepted in any case
_MOST_PACKED = 100  # highest accepted compression ratio of text
_EXPECTED_PARQUET = "a Parquet table with a column of text"


def column_place(
    columns: Sequence[str], column: str | None, *, name: str, option: str = "--column", holds: str = "the text"
) -> int:
    """Return the index of the requested column.

    Args:
        columns: names of the table's columns.
        column: name of the requested column; None if the user gave none.
        name: name of the table in errors.
        option: option that names the column, for errors.
        holds: description of the column's content, for errors.

    Raises:
        InputError: no name was given, or the table has no such column, or several; the message lists its columns.
    """
    listed = ", ".join(shorten(printable(each), _LONGEST_NAME) or "''" for each in columns[:_MOST_NAMED])
    has = f"it has {listed}" + (f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else "")
    if column is None:
        raise InputError(f"{name} is a table; say with {option} which of its columns holds {holds}: {has}")
    if columns.count(column) != 1:
        fault = "several columns" if column in columns else "no column"
        raise InputError(
            f"{name} has {fault} {shorten(printable(column), _LONGEST_NAME)!r}; expected the name of one of its "
            f"columns after {option}: {has}"
        )
    return columns.index(column)


def places_of(columns: Sequence[str], column: str | None, labels: str | None, *, name: str) -> tuple[int, int | None]:
    """Return the indices of the column of text and, if requested, of the column of labels.

    Raises:
        InputError: as in `column_place`.
    """
    text = column_place(columns, column, name=name)
    if labels is None:
        return text, None
    return text, column_place(columns, labels, name=name, option="--labels", holds="the labels")


def cell_documents(cells: NumberedTexts, *, name: str, column: str) -> Iterator[Document]:
    """Yield a document for each cell with more than white space; the cell becomes one line.

    Args:
        cells: number of the row, from 1 and without the header, the cell's text, and the row's label under the name of
            its column, if labels are requested.
        name: name of the table in errors and `Document.origin`.
        column: name of the column.

    Raises:
        InputError: all cells are empty.
    """
    nothing = f"{name} has nothing in its column {column!r}; expected a text in each row"
    yield from whole_documents(cells, origin=f"{name}, row", nothing=nothing)


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


_EXPECTED = "a header of column names, and a row for each document"


CSV = Format(
    expected=_EXPECTED,
    documents=partial(_documents, separators=",;", ending=".csv"),
    example=b'id,text\n1,The cat sat.\n2,"It\nslept."\n',
)


TSV = Format(
    expected=_EXPECTED,
    documents=partial(_documents, separators="\t", ending=".tsv"),
    example=b"id\ttext\n1\tThe cat sat.\n2\tIt slept.\n",
)


def _parquet_documents(path: str | Path, /, *, column: str | None, labels: str | None = None) -> Iterator[Document]:
    name = source_name(path)
    file = _opened(path, name)
    columns = [str(each) for each in file.schema_arrow.names]
    index, of_labels = places_of(columns, column, labels, name=name)
    of_text = columns[index]
    _check_sizes(file, of_text, name)
    if of_text in [file.schema.column(number).path for number in range(len(file.schema))]:
        # A dictionary-encoded text stays shared in memory: 512 rows may refer to one of several megabytes.
        file = _opened(path, name, shared=[of_text])
    texts = _texts(file, of_text, name)
    fields: Iterable[Mapping[str, Any]] = repeat({})
    if of_labels is not None:
        label = columns[of_labels]
        _check_sizes(file, label, name)
        fields = ({label: value} for _, value in _values(file, label, name))
    cells = ((number, text, of_row) for (number, text), of_row in zip(texts, fields, strict=False))
    yield from cell_documents(cells, name=name, column=of_text)


def _opened(path: str | Path, name: str, *, shared: list[str] | None = None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if is_pipe(path) or other_than_file(path):
            raise InputError(f"{name} is not a file; {_EXPECTED_PARQUET} is read from a file only")
        if Path(path).stat().st_size == 0:
            raise InputError(f"{name} is empty: expected {_EXPECTED_PARQUET}")
        return pq.ParquetFile(path, read_dictionary=shared)
    except pa.ArrowException as error:
        raise _broken(name, error) from None
    except OSError as error:
        if error.errno is None:  # Arrow's own error about the content of the file
            raise _broken(name, error) from None
        raise unreadable(name, error) from None


def _texts(file: Any, column: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each row, from 1, and its text."""
    for number, cell in _values(file, column, name):
        if cell is not None and not isinstance(cell, str):
            raise InputError(
                f"{name}, row {number}: column {column!r} holds {type(cell).__name__}, not text; name another with "
                "--column"
            )
        yield number, cell or ""


def _values(file: Any, column: str, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each row, from 1, and its value in a column."""
    import pyarrow as pa

    number = 0
    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=[column]):
            cells = batch.column(0)
            if _longest(cells) > MAX_LINE:
                raise InputError(
                    f"{name}, rows {number + 1} to {number + len(cells)}: one of them is longer than 16 MiB; break it "
                    "into shorter ones"
                )
            for value in cells:
                number += 1
                yield number, value.as_py()
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from None


def _check_sizes(file: Any, column: str, name: str) -> None:
    """Raise an error for a column that unpacks to far more than text does, before any of it is unpacked."""
    for group in range(file.metadata.num_row_groups):
        row_group = file.metadata.row_group(group)
        for part in (row_group.column(index) for index in range(row_group.num_columns)):
            size, packed = part.total_uncompressed_size, part.total_compressed_size
            inside = f"{part.path_in_schema}.".startswith(f"{column}.")
            if inside and size > max(_ALWAYS_READ, _MOST_PACKED * packed):
                raise InputError(
                    f"{name}: its column {printable(column)!r} unpacks from {packed:,} bytes to {size:,}; expected "
                    f"text, at most {_MOST_PACKED} times as much: make it again"
                )


def _longest(cells: Any) -> int:
    """Return the bytes of a batch's longest text, before any text is created; 0 if the values are not text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return int(pc.max(pc.binary_length(texts)).as_py() or 0) if any(is_kind(texts.type) for is_kind in kinds) else 0


def _broken(name: str, error: Exception) -> InputError:
    why = shorten(printable(str(error).split("\n", 1)[0]), 200)
    return InputError(f"{name} cannot be read as Parquet ({why}); expected {_EXPECTED_PARQUET}: make or fetch it again")


def _example() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1, 2], "text": ["The cat sat.", "It slept."]}), sink)
    return bytes(sink.getvalue().to_pybytes())


PARQUET = Format(expected=_EXPECTED_PARQUET, documents=_parquet_documents, example=_example)
