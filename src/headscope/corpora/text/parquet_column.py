"""Parquet: the column of text, read one group of rows at a time."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.files import MAX_LINE
from headscope.corpora.formats import TableFormat
from headscope.corpora.opening import is_pipe, other_than_file, source_name, unreadable
from headscope.corpora.text.column import cell_documents, places_of
from headscope.errors import InputError
from headscope.visible import printable, shorten

_ROWS = 512  # rows in memory at once
_ALWAYS_READ = 64 << 20  # bytes of a column in a group of rows that are accepted in any case
_MOST_PACKED = 100  # highest accepted compression ratio of text
_EXPECTED = "a Parquet table with a column of text"


def _documents(path: str | Path, /, *, column: str | None, labels: str | None = None) -> Iterator[Document]:
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
            raise InputError(f"{name} is no file; {_EXPECTED} is read from a file only")
        if Path(path).stat().st_size == 0:
            raise InputError(f"{name} is empty: expected {_EXPECTED}")
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
    return InputError(f"{name} cannot be read as Parquet ({why}); expected {_EXPECTED}: make or fetch it again")


def _example() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1, 2], "text": ["The cat sat.", "It slept."]}), sink)
    return bytes(sink.getvalue().to_pybytes())


FORMAT = TableFormat(expected=_EXPECTED, documents=_documents, example=_example)
