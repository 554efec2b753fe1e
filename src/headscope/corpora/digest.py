"""What was read, as a count and a hash: the part of a run's signature that stands for its corpus."""

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from headscope.corpora.document import Document
from headscope.errors import InputError


class CorpusDigest(Iterator[Document]):
    """Passes documents on, counts them, and hashes their content in the order in which they come.

    The hash covers lines (and whether they are `whole`), words, tokens and fields, and where one document
    ends. It does not see names of files, or which file a document was in. Count and hash stand for what was
    drawn so far: read them when the documents have been drawn.

    Raises:
        InputError: on iteration, for fields that are not JSON or are nested too deeply.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._source = iter(documents)
        self._hash = blake2b(digest_size=16)
        self._documents = 0

    def __next__(self) -> Document:
        document = next(self._source)
        self._hash.update(content_of(document))
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


def content_of(document: Document) -> bytes:
    """Return the bytes that a document is hashed by.

    Raises:
        InputError: its fields are not JSON or are nested too deeply.
    """
    # one line of JSON, in which line ends are escaped: no two contents can run into one another
    parts = [document.lines, document.whole, document.words, document.tokens, dict(document.fields)]
    try:
        return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        origin = document.origin or f"document {document.id}"
        raise InputError(
            f"{origin}: its fields cannot be written as JSON ({error}); leave them out"
        ) from None
