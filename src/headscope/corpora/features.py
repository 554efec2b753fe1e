"""The features files of Clark et al. 2019's code: JSON objects with `text`, `words` or `tokens`.

The original reads a list of objects (`.json`); JSON Lines, one object per line (`.jsonl`), are read as well. Values are
read one at a time, in memory that does not grow with the file.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NoReturn

from headscope.corpora.document import Document
from headscope.corpora.files import split_lines
from headscope.corpora.formats import Format
from headscope.corpora.mentions.brackets import printable
from headscope.errors import InputError
from headscope.visible import described

MAX_ENTRY = 16 << 20  # characters; without a limit, an unclosed bracket would load the whole file
_SPACES = re.compile(r"[ \t\n\r]*")


class _Refused(ValueError):
    """A number that Python accepts but other readers of JSON do not."""


def _refuse_constant(text: str) -> NoReturn:
    raise _Refused(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Refused(f"{text[:30]} is too large a number")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


class _Window:
    """The text from the first value that is not decoded yet, and its position in the file."""

    def __init__(self, pieces: Iterable[str], name: str, line: int = 1) -> None:
        self.text, self.at, self.ended = "", 0, False
        self._pieces = iter(pieces)
        self._name = name
        self._line, self._column = line, 1  # of text[0]

    def grow(self) -> None:
        """Drop the decoded text and double the rest, so that a long entry is decoded only a few times."""
        self._line, self._column = self._place(self.at)
        parts, size = [self.text[self.at :]], 0
        while size <= len(parts[0]) and not self.ended:
            piece = next(self._pieces, "")
            self.ended = not piece
            parts.append(piece)
            size += len(piece)
        self.text, self.at = "".join(parts), 0

    def next_character(self) -> str:
        """Go to the next character that is not white space and return it; `""` at the end."""
        skipped = 0
        while True:
            begun, self.at = self.at, _SPACES.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            skipped += self.at - begun
            if skipped > MAX_ENTRY:  # a few bytes of gzip can unpack to endless spaces
                line, _ = self._place(self.at)
                raise InputError(
                    f"{self._name}, line {line}: more than 16 million characters of white space end here; remove them"
                )
            self.grow()

    def value(self, entry: int) -> Any:
        """Decode the value that begins here and move past it; `entry` is its number, for errors."""
        entry_name = f"{self._name}, entry {entry}"
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # A value cut by the end of the window fails there, or at the opening quote of its last string.
                cut = error.pos >= len(self.text) - 16 or error.msg.startswith("Unterminated string")
                if self.ended or not cut:
                    raise self.malformed(entry, error.msg, at=error.pos) from None
            except _Refused as error:
                raise InputError(f"{entry_name}: {error}; write null or a number") from None
            except ValueError:
                raise InputError(f"{entry_name}: an integer of thousands of digits; write it as text") from None
            except RecursionError:
                raise InputError(f"{entry_name}: nested too deeply; flatten it") from None
            else:
                # lists, objects and strings are complete; a bare number may continue, after "1" with ".5" or "e+5"
                if end + 2 < len(self.text) or self.ended or isinstance(value, str | list | dict):
                    self.at = end
                    return value
            if len(self.text) - self.at > MAX_ENTRY:
                raise InputError(
                    f"{entry_name}: longer than 16 million characters; break it into smaller entries, or look for a "
                    "quote or bracket that is not closed"
                )
            self.grow()

    def malformed(self, entry: int, why: str, *, at: int | None = None) -> InputError:
        """Return the error for JSON that is malformed at `at` (default: here)."""
        line, column = self._place(self.at if at is None else at)
        where = f"line {line}, column {column}"
        return InputError(f"{self._name}, entry {entry}: malformed JSON at {where} ({why}); mend it there")

    def _place(self, at: int) -> tuple[int, int]:
        last = self.text.rfind("\n", 0, at)
        if last < 0:
            return self._line, self._column + at
        return self._line + self.text.count("\n", 0, at), at - last


def list_values(pieces: Iterable[str], *, name: str) -> Iterator[Any]:
    """Yield the items of a JSON list whose text arrives in pieces; `name` is the name of the file in errors.

    Raises:
        InputError: the text is anything but one list, malformed JSON (with entry, line and column), has NaN or an
            infinite number, or an entry that is nested too deeply or longer than 16 million characters.
    """
    window = _Window(pieces, name)
    if (begin := window.next_character()) != "[":
        raise InputError(
            f"{name}: expected a JSON list of objects, found {_begins(begin)}; put the objects in [ and ], "
            "or name the file .jsonl if it has one object a line"
        )
    window.at += 1
    entry = 0
    if window.next_character() == "]":
        raise InputError(f"{name} is an empty list: expected a JSON list with at least one object")
    while True:
        entry += 1
        window.next_character()
        yield window.value(entry)
        mark = window.next_character()
        if mark not in (",", "]"):
            raise window.malformed(entry, "Expecting ',' or ']' after the entry")
        window.at += 1
        if mark == "]":
            break
    if window.next_character():
        raise window.malformed(entry, "Text after the end of the list")


def _begins(character: str) -> str:
    named = {"{": "an object", '"': "a string", "": "only white space"}
    return named.get(character) or f"text that begins with {printable(character)}"


def line_values(lines: Iterable[str], *, name: str) -> Iterator[Any]:
    """Yield the values of JSON Lines, one per line; blank lines are left out. Errors are those of `list_values`."""
    entry = 0
    for number, line in enumerate(lines, 1):
        window = _Window([line], name, number)
        if window.next_character():
            entry += 1
            value = window.value(entry)
            if window.next_character():
                raise window.malformed(entry, "Text after the end of the object")
            yield value
    if not entry:
        raise InputError(f"{name} has only blank lines: expected a JSON object on each line")


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
        InputError: the JSON is malformed, or an entry does not have exactly one such field, or its
            field has the wrong type or is empty.
    """
    values = line_values(split_lines(pieces, name=name), name=name) if by_line else list_values(pieces, name=name)
    for number, value in enumerate(values, 1):
        yield _document(value, origin=f"{name}, entry {number}")


def _document(entry: Any, *, origin: str) -> Document:
    if not isinstance(entry, dict):
        raise InputError(f"{origin}: expected an object with text, words or tokens, found {described(entry)}")
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
        raise InputError(f"{origin}: expected {field} to be a list of strings, found {described(value)}")
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
        raise InputError(f"{origin}: expected {field} to be a string, found {described(value)}")
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


_EXAMPLE = ('{"text": "The cat sat."}', '{"text": "It slept."}')
LIST = Format(
    expected=EXPECTED_FEATURES,
    documents=partial(feature_documents, by_line=False),
    example=f"[{', '.join(_EXAMPLE)}]",
    begins="[",
)
LINES = Format(
    expected=EXPECTED_FEATURES,
    documents=partial(feature_documents, by_line=True),
    example="\n".join(_EXAMPLE),
    begins="{",
)
