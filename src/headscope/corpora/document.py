"""The unit that a corpus is made of, and that every interval resamples."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Document:
    """One source text: a blank-line block of lines, or one entry of a features file.

    Exactly one of `lines`, `words` and `tokens` is given.

    Attributes:
        id: hash of the content with its ordinal (`document_id`); never a file name.
        lines: plain text, one sentence or one paragraph a line, none empty.
        whole: whether each line is an input as it stands, never packed with another (a features entry).
        words: one input, already cut into words (the model adds its special tokens).
        tokens: one input, already cut into the tokeniser's pieces, special tokens included.
        fields: the other fields of a features entry, kept as they came.
        origin: where it stands, for error messages: `wiki.txt, line 12`, `dev.json, entry 3`.
    """

    id: str
    lines: tuple[str, ...] = ()
    whole: bool = False
    words: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""


def document_id(pieces: tuple[str, ...], ordinal: int) -> str:
    """Return a document's id: 16 hex digits of BLAKE2b over its content and its place in the corpus.

    The ordinal tells two equal documents apart; the content keeps ids from depending on file names.
    """
    digest = blake2b(digest_size=8)
    digest.update(ordinal.to_bytes(8, "little"))
    digest.update("\x1f".join(pieces).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
