"""Text given in Python: one string, a list, a pandas column, a dataset, or names of files, and how to tell them apart.

A `Path` is always a file or folder. A string is a text, unless it names an existing file or folder or looks like the
name of one. Each text is a separate document; blank lines split it into several.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from numbers import Real
from pathlib import Path
from typing import Any

from headscope.corpora.by_name import is_remote
from headscope.corpora.document import Document, check_label, distinct
from headscope.corpora.files import text_lines
from headscope.corpora.formats import TEXT
from headscope.corpora.plain import text_documents, whole_documents
from headscope.errors import InputError, OptionError
from headscope.storage.places import exists

EXPECTED = (
    "expected a text, a list of texts, a column of a data frame, a dataset with a column `text`, or the path of a file "
    "or folder"
)
_COLUMN = "text"
_LONGEST_NAME = 1024


def given_text(
    text: Any, *, column: str | None = None, labels: str | None = None
) -> tuple[str, ...] | tuple[Document, ...]:
    """Interpret an argument `text`: return the paths of files, or the documents of texts in memory.

    Args:
        text: a string, a `Path`, a list of either, a column (anything that yields strings), a data frame, a dataset, or
            documents from `read_corpus`.
        column: column of a data frame or dataset that holds the text; when None the column `text`, or the only one.
        labels: column of a data frame or dataset that holds the label of each text, which is then a whole input; for
            documents, the field. None for no labels.

    Returns:
        Paths as strings, or documents; empty for None.

    Raises:
        OptionError: `text` is of another type, or it may be a text as well as a file; the message says what to give.
        InputError: it has only blank lines, or a text has no label.
    """
    texts = _given(text, column, labels)
    for each in texts:
        if isinstance(each, Document):
            check_label(each, labels)
    return texts


def _given(text: Any, column: str | None, labels: str | None) -> tuple[str, ...] | tuple[Document, ...]:
    if text is None:
        return ()
    if isinstance(text, str | Path):
        return _of_strings([text])
    is_list = isinstance(text, Sequence) and not isinstance(text, bytes) and not hasattr(text, "column_names")
    if is_list and len(text) and all(isinstance(each, str | Path) for each in text):
        return _of_strings(list(text))
    if getattr(text, "closed", None) is True:
        raise OptionError("text is a file that was closed; give its path as a Path, or what was read from it")
    texts = list(_texts(text, column))
    if labels is not None and (of_texts := _labels_of(text, labels)) is not None:
        return _labeled(texts, labels, of_texts)
    if texts and all(isinstance(each, Document) for each in texts):
        return _identified(texts)
    return _documents(texts)


def _of_strings(texts: Sequence[str | Path]) -> tuple[str, ...] | tuple[Document, ...]:
    """Classify strings and paths as files or texts, and return paths or documents."""
    kinds = [_kind(each) for each in texts]
    if "text" not in kinds:
        return tuple(str(each) for each in texts)
    if "file" in kinds:
        text, file = texts[kinds.index("text")], texts[kinds.index("file")]
        raise OptionError(
            f"text holds {_short(str(file))}, which is a file or folder, and {_short(str(text))}, which is not; "
            "give a list of texts, or a list of paths"
        )
    return _documents(texts)


def _kind(text: str | Path) -> str:
    """Classify a string: the `name` of a file that may be missing, an existing `file`, or a `text`."""
    if isinstance(text, Path):
        return "file"
    words = text.split()
    named = len(words) == 1 and (Path(text).suffix.lower() in (*TEXT, ".gz") or "/" in text or "\\" in text)
    if text == "-" or is_remote(text):
        return "file"
    if "\n" not in text and len(text) <= _LONGEST_NAME and words and exists(text):
        if len(words) > 1 and not Path(text).suffix:
            raise OptionError(
                f'text {_short(text)} is also the name of a file or folder here; give Path("{text}") to read that, '
                "or the text with a line end after it"
            )
        return "file"
    return "name" if named else "text"


def _texts(text: Any, column: str | None) -> Iterator[Any]:
    """Yield the entries of a column of a data frame or dataset, or of any other iterable."""
    if isinstance(text, Mapping):
        splits = ", ".join(map(str, text)) or "nothing"
        raise OptionError(f"text is a {type(text).__name__} of {splits}; choose one of them, as text[...]")
    if not isinstance(text, Iterable) or isinstance(text, bytes):
        raise OptionError(f"text is {_short(repr(text))}; {EXPECTED}")
    columns = _columns_of(text)
    if columns is None:
        key = column or _COLUMN
        yield from (each[key] if isinstance(each, Mapping) and key in each else each for each in text)
        return
    yield from _cells(text, columns, column or (str(columns[0]) if len(columns) == 1 else _COLUMN), option="column")


def _cells(table: Any, columns: list[Any], name: str, *, option: str) -> Iterable[Any]:
    """Return a column of a data frame or dataset.

    Raises:
        OptionError: the column does not exist; the message lists the columns.
    """
    names = [str(each) for each in columns]
    if name not in names:
        first = names[0] if names else "..."
        remedy = f'{option}="{first}"' + (f' or text=data["{first}"]' if option == "column" else "")
        raise OptionError(
            f"text is a {type(table).__name__} with the columns {', '.join(names) or '(none)'}, and none is named "
            f"{_short(name)}; give the name of one, as {remedy}"
        )
    cells: Iterable[Any] = table[columns[names.index(name)]]
    return cells


def _columns_of(text: Any) -> list[Any] | None:
    """Return the names of a table's columns; None if the argument is not a table."""
    columns = getattr(text, "column_names", None)
    if columns is None:
        columns = getattr(text, "columns", None)
    return None if columns is None or callable(columns) else list(columns)


def _labels_of(text: Any, field: str) -> Iterable[Any] | None:
    """Return the label of each row of a table, or of a list of rows; None if rows of a list have none."""
    columns = _columns_of(text)
    if columns is not None:
        return _cells(text, columns, field, option="labels")
    rows = text if isinstance(text, Sequence) else ()
    if rows and all(isinstance(each, Mapping) and field in each for each in rows):
        return [each[field] for each in rows]
    return None


def _labeled(texts: Sequence[Any], field: str, labels: Iterable[Any]) -> tuple[Document, ...]:
    """Make a document of each text with its label, as a whole input; blank ones are left out."""
    rows = (
        (number, _checked(text, number), {field: _plain(label)})
        for number, (text, label) in enumerate(zip(texts, labels, strict=True), 1)
    )
    nothing = f"text holds {len(texts):,} texts of blank lines only; {EXPECTED}"
    return tuple(distinct(whole_documents(rows, origin="text", nothing=nothing)))


def _plain(label: Any) -> Any:
    """Return a label of a data frame as Python's own number or text; None for a cell of pandas.NA."""
    if str(label) == "<NA>" and not isinstance(label, str):
        return None
    return label.item() if hasattr(label, "item") else label


def _identified(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Give documents the ids of their content, because documents of several readings may share ids by numbering."""
    return tuple(distinct(replace(document, id="") for document in documents))


def _documents(texts: Iterable[Any]) -> tuple[Document, ...]:
    """Make documents of texts; blank ones are left out."""
    parts: list[Document] = []
    number = 0
    for number, text in enumerate(texts, 1):
        if _checked(text, number).strip():
            parts.extend(text_documents(text_lines(text), name=f"text {number}"))
    if not parts:
        fault = f"holds {number:,} texts of blank lines only" if number else "is empty"
        raise InputError(f"text {fault}; {EXPECTED}")
    return tuple(distinct(parts))


def _checked(text: Any, number: int) -> str:
    """Return one of the texts, checked.

    Raises:
        OptionError: it is not a text.
    """
    if isinstance(text, str):
        return text
    missing = text is None or (isinstance(text, Real) and isnan(text))  # the values of empty cells in pandas
    remedy = "; leave missing texts out first, as column.dropna()" if missing else ""
    what = "nothing" if missing else f"a {type(text).__name__}"
    raise OptionError(f"text holds {what} at place {number}; {'expected texts' + remedy if missing else EXPECTED}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"'{flat[:60]}...'" if len(flat) > 60 else f"'{flat}'"
