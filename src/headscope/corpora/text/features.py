"""The features files of Clark et al. 2019's code: JSON objects with `text`, `words` or `tokens`.

The original reads a list of objects (`.json`); JSON Lines, one object per line (`.jsonl`), are read as well.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from headscope.corpora.document import Document
from headscope.corpora.files import split_lines
from headscope.corpora.formats import TextFormat
from headscope.corpora.text.json_stream import line_values, list_values
from headscope.errors import InputError

CONTENT = ("text", "words", "tokens")
EXPECTED_FEATURES = "JSON objects, each with one of text, words and tokens"


def feature_documents(pieces: Iterable[str], *, name: str, by_line: bool) -> Iterator[Document]:
    """Yield one document for each entry of a features file, in memory that does not grow with the file.

    An entry has exactly one of `text` (a string: the document's only line, unchanged and `whole`), `words` and `tokens`
    (lists of strings). Its other fields, such as `heads` and `relns`, are kept in `Document.fields`.

    Args:
        pieces: text of the file.
        name: name of the file in errors and `Document.origin`.
        by_line: whether it is JSON Lines, in place of one JSON list.

    Raises:
        InputError: the JSON is malformed (`json_stream`), or an entry does not have exactly one such field, or its
            field has the wrong type or is empty.
    """
    values = line_values(split_lines(pieces, name=name), name=name) if by_line else list_values(pieces, name=name)
    for number, value in enumerate(values, 1):
        yield _document(value, origin=f"{name}, entry {number}")


def _document(entry: Any, *, origin: str) -> Document:
    if not isinstance(entry, dict):
        raise InputError(f"{origin}: expected an object with text, words or tokens, found {_kind(entry)}")
    content_keys = [key for key in CONTENT if key in entry]
    if len(content_keys) != 1:
        came = " and ".join(content_keys) if content_keys else f"none of them among its fields ({_fields(entry)})"
        raise InputError(
            f"{origin}: expected exactly one of text, words and tokens, found {came}; "
            + ("keep one" if content_keys else "add one")
        )
    key = content_keys[0]
    fields = {name: value for name, value in entry.items() if name != key}
    if key == "text":
        line = _string(entry[key], "text", origin)
        return Document(lines=(line,), whole=True, fields=fields, origin=origin)
    pieces = _strings(entry[key], key, origin)
    content: dict[str, Any] = {key: pieces}
    return Document(fields=fields, origin=origin, **content)


def _strings(value: Any, field: str, origin: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{origin}: expected {field} to be a list of strings, found {_kind(value)}")
    if not value:
        raise InputError(f"{origin}: {field} is an empty list; give at least one string or leave the entry out")
    # a token may be white space (Gemma's "\n"), but a word may not
    blank = field == "tokens"
    if not _all_fit(value, blank):
        for item_number, item in enumerate(value, 1):
            _string(item, f"item {item_number} of {field}", origin, blank=blank)
    return tuple(value)


def _all_fit(value: list[Any], blank: bool) -> bool:
    """Return True if every item passes `_string`, checked at once: item by item it takes longer than the decoding."""
    try:
        "".join(value).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return all(value) if blank else all(map(str.strip, value))


def _string(value: Any, field: str, origin: str, *, blank: bool = False) -> str:
    if not isinstance(value, str):
        raise InputError(f"{origin}: expected {field} to be a string, found {_kind(value)}")
    if not value or not (blank or value.strip()):
        raise InputError(f"{origin}: {field} is empty; fill it in or leave the entry out")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # JSON can express it, but no tokenizer accepts it
        half = f"\\u{ord(value[error.start]):04x}"
        raise InputError(f"{origin}: {field} has half of a character ({half}); mend or remove it") from None
    return value


def _fields(entry: dict[str, Any]) -> str:
    names = [repr(name[:40])[1:-1] + "..." * (len(name) > 40) for name in entry]
    return ", ".join(names[:8] + ["..."] * (len(names) > 8)) or "it has no field"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"[:40]
    return "a string" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


_EXAMPLE = ('{"text": "The cat sat."}', '{"text": "It slept."}')
LIST = TextFormat(
    expected=EXPECTED_FEATURES,
    documents=partial(feature_documents, by_line=False),
    example=f"[{', '.join(_EXAMPLE)}]",
    begins="[",
)
LINES = TextFormat(
    expected=EXPECTED_FEATURES,
    documents=partial(feature_documents, by_line=True),
    example="\n".join(_EXAMPLE),
    begins="{",
)
