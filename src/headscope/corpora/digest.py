"""A count and a hash of the documents that were read: the part of a run's signature that identifies its corpus."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from headscope.corpora.document import Document


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
