"""The unit that a corpus consists of, and that every interval resamples; and the check of its label."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from headscope.errors import InputError
from headscope.visible import printable, shorten

_EMPTY = ("None", "nan", "NaT", "<NA>")  # how data frames write an empty cell


@dataclass(frozen=True, kw_only=True)
class Document:
    """One source text: a blank-line block of lines, or one entry of a features file.

    Exactly one of `lines`, `words` and `tokens` is given.

    Attributes:
        id: hash of the content (`document_id`) if none is given; equal documents are numbered (`identity.distinct`).
        lines: plain text, one sentence or one paragraph per line, none empty.
        whole: whether each line is a complete input, never packed with another (a features entry).
        words: one input, already split into words (the model adds its special tokens).
        tokens: one input, already split into the tokenizer's pieces, special tokens included.
        fields: other fields of a features entry, unchanged.
        origin: place in the file, for error messages: `wiki.txt, line 12`, `dev.json, entry 3`; not part of its
            content.
    """

    id: str = ""
    lines: tuple[str, ...] = ()
    whole: bool = False
    words: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", document_id(self.content()))

    def content(self) -> bytes:
        """Return the bytes that its id is the hash of.

        They do not cover whether its lines are packed, and numbers among its fields are written as text: the same
        document has the same id in a text, a table and a data frame.

        Raises:
            InputError: its fields are not JSON or are nested too deeply.
        """
        # one line of JSON, in which line ends are escaped, so that the contents of two documents cannot run together
        fields = {name: str(value) if isinstance(value, int | float) else value for name, value in self.fields.items()}
        unused = False  # keeps the ids of documents that have only lines
        parts = [self.lines, unused, self.words, self.tokens, fields]
        try:
            return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            origin = self.origin or (f"document {self.id}" if self.id else "a document")
            raise InputError(f"{origin}: its fields cannot be written as JSON ({error}); leave them out") from None

    def text(self) -> Iterable[str]:
        """Return the text that the model reads, in pieces: documents with the same text are copies of each other."""
        return self.lines or self.words or self.tokens or ()


def document_id(content: bytes) -> str:
    """Return the id of a document with this content: 16 hex digits of BLAKE2b."""
    return blake2b(content, digest_size=8).hexdigest()


def check_label(document: Document, labels: str | None) -> None:
    """Raise an error if a document lacks its label.

    Args:
        document: document that was read.
        labels: name of the field with the label; None if no labels are used.

    Raises:
        InputError: it has no such field, or the field is empty; the message names the fields that it has.
    """
    if labels is None:
        return
    label = document.fields.get(labels)
    if label != "" if isinstance(label, str) else str(label) not in _EMPTY:
        return
    origin = document.origin or f"document {document.id}"
    field = shorten(printable(labels), 60)
    if labels in document.fields:
        raise InputError(f"{origin}: its label {field!r} is empty; fill it in, or leave the row out")
    named = ", ".join(shorten(printable(each), 60) for each in list(document.fields)[:8])
    raise InputError(
        f"{origin}: no label {field!r} ({f'its fields are {named}' if named else 'it has no fields'}); give a table "
        "(.csv, .tsv, .parquet) with a column of labels, or JSON entries with such a field"
    )
