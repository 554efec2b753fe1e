"""Parquet: the column of text, a group of rows at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.formats import TableFormat
from headscope.corpora.opening import is_pipe, other_than_file, source_name, unreadable
from headscope.corpora.text.column import cell_documents, column_place
from headscope.errors import InputError
from headscope.visible import printable, shorten

_ROWS = 512  # held at once
_EXPECTED = "a Parquet table with a column of text"


def _documents(path: str | Path, /, *, column: str | None, start: int) -> Iterator[Document]:
    name = source_name(path)
    file = _opened(path, name)
    columns = [str(each) for each in file.schema_arrow.names]
    place = column_place(columns, column, name=name)
    cells = _cells(file, columns[place], name)
    yield from cell_documents(cells, name=name, column=columns[place], start=start)


def _opened(path: str | Path, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if is_pipe(path) or other_than_file(path):
            raise InputError(f"{name} is no file; {_EXPECTED} is read from a file only")
        if Path(path).stat().st_size == 0:
            raise InputError(f"{name} is empty: expected {_EXPECTED}")
        return pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise _broken(name, error) from None
    except OSError as error:
        if error.errno is None:  # Arrow's own, of what stands in the file
            raise _broken(name, error) from None
        raise unreadable(name, error) from None


def _cells(file: Any, column: str, name: str) -> Iterator[tuple[int, str]]:
    import pyarrow as pa

    number = 0
    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=[column]):
            for cell in batch.column(0).to_pylist():
                number += 1
                if cell is not None and not isinstance(cell, str):
                    raise InputError(
                        f"{name}, row {number}: column {column!r} holds {type(cell).__name__}, not text; name another "
                        "with --column"
                    )
                yield number, cell or ""
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from None


def _broken(name: str, error: Exception) -> InputError:
    why = shorten(printable(str(error).split("\n", 1)[0]), 200)
    return InputError(
        f"{name} cannot be read as Parquet ({why}); expected {_EXPECTED}: make or fetch it again"
    )


def _example() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1, 2], "text": ["The cat sat.", "It slept."]}), sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


FORMAT = TableFormat(expected=_EXPECTED, documents=_documents, example=_example)
