"""The unit that a corpus consists of and that every interval resamples: its label, id, copies, and a digest of all."""

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from headscope.errors import InputError
from headscope.visible import count, printable, shorten

_EMPTY = ("None", "nan", "NaT", "<NA>")  # how data frames write an empty cell
COPIES_FROM = 0.05
"""The share of copies among documents from which on a run reports them."""
_RECENT = 1 << 10


@dataclass(frozen=True, kw_only=True)
class Document:
    """One source text: a blank-line block of lines, or one entry of a features file.

    Exactly one of `lines`, `words` and `tokens` is given.

    Attributes:
        id: hash of the content (`document_id`) if none is given; equal documents are numbered (`distinct`).
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


@runtime_checkable
class Identified(Protocol):
    """A document of any kind, with an id."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """The hash of its content."""

    def text(self) -> Iterable[str]:
        """Return the text that the model reads."""


Item = TypeVar("Item", bound=Identified)


def distinct(documents: Iterable[Item]) -> Iterator[Item]:
    """Yield documents with unique ids: the second of equal ones gets `-2` after its id, and so on.

    Equal documents are interchangeable, so their order decides nothing either.
    """
    numbering = Numbering()
    for document in documents:
        unique = numbering.unique(document.id)
        yield document if unique == document.id else replace(document, id=unique)


class Copies:
    """Counts documents whose text occurred before, in 8 bytes per document."""

    def __init__(self) -> None:
        self._texts = array("Q")

    def add(self, document: Identified) -> None:
        """Add the next document."""
        digest = blake2b("\x1f".join(document.text()).encode("utf-8", "surrogatepass"), digest_size=8)
        self._texts.append(int.from_bytes(digest.digest(), "little"))

    def note(self, name: str) -> str | None:
        """Return a note on the copies; None below 5% of the documents."""
        documents = len(self._texts)
        if not documents:
            return None
        import numpy as np  # here, so that code which only reads a corpus does not import it

        copies = documents - len(np.unique(np.frombuffer(self._texts, dtype=np.uint64)))
        if not copies or copies < COPIES_FROM * documents:
            return None
        return (
            f"{count(copies, 'document')} of the {documents:,} of {name} ({100 * copies / documents:.0f}%) "
            f"{'repeats' if copies == 1 else 'repeat'} the text of another; intervals and tests count each as "
            "independent, so they claim too much: keep one of each"
        )


class Numbering:
    """Makes ids unique, in about 20 bytes per id: most previous ids are in one sorted array."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = array("Q")
        self._repeated: dict[int, int] = {}

    def unique(self, document_id: str) -> str:
        """Return an id unchanged the first time, `ID-2` the second, and so on."""
        number = int(document_id, 16)
        index = bisect_left(self._sorted, number)
        if number in self._recent or (index < len(self._sorted) and self._sorted[index] == number):
            self._repeated[number] = self._repeated.get(number, 1) + 1
            return f"{document_id}-{self._repeated[number]}"
        self._recent.add(number)
        if len(self._recent) > max(_RECENT, len(self._sorted) // 8):
            import numpy as np

            recent = np.fromiter(self._recent, dtype=np.uint64)
            merged = np.append(np.frombuffer(self._sorted, dtype=np.uint64), recent)
            self._sorted = array("Q", np.sort(merged).tobytes())
            self._recent.clear()
        return document_id


class CorpusDigest(Iterator[Document]):
    """Pass documents on, count them, and hash their content in the order in which they arrive.

    The hash covers lines (and whether they are `whole`), words, tokens and fields, and where one document ends. It does
    not depend on names of files, or on which file a document was in. Count and hash cover the documents drawn so far:
    read them after the last document.

    Raises:
        InputError: on iteration, for fields that are not JSON or are nested too deeply.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._source = iter(documents)
        self._hash = blake2b(digest_size=16)
        self._documents = 0

    def __next__(self) -> Document:
        document = next(self._source)
        self._hash.update(document.content() + b"whole" * document.whole)
        self._documents += 1
        return document

    @property
    def documents(self) -> int:
        """The number of documents drawn so far."""
        return self._documents

    @property
    def hexdigest(self) -> str:
        """The hash of the documents drawn so far: 32 hexadecimal digits of BLAKE2b."""
        return self._hash.hexdigest()
