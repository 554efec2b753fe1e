"""The unit that a corpus consists of, and that every interval resamples."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from headscope.errors import InputError


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
