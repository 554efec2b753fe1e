"""One column of a table as documents, one whole document per cell: the code shared by all formats of tables."""

from collections.abc import Iterator, Sequence

from headscope.corpora.document import Document
from headscope.corpora.text.plain import NumberedTexts, whole_documents
from headscope.errors import InputError
from headscope.visible import printable, shorten

_MOST_NAMED = 30  # columns that an error lists
_LONGEST_NAME = 60


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
