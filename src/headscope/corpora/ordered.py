"""A corpus in the order of its documents' ids, so that no number depends on the order of the files.

An id is a hash of the content: documents that are read in the order of their ids give the same inputs, batches and
sums to the last digit, whatever order and files they were written in.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from headscope.corpora.identity import Copies, Identified
from headscope.corpora.passes import Passes

MOST_HELD = 1 << 25
"""Maximum number of characters of a corpus that is held in memory to be sorted. A larger one is read from its files
each time, in their order: its draws and groups are the same in any order, but its batches and so the last digits of
float32 are not."""
A_DOCUMENT = 1 << 9
"""Characters that a document counts in addition to its own, so that millions of one-letter documents are not held."""

Item = TypeVar("Item", bound=Identified)


class Ordered(Generic[Item]):
    """Documents that may be read several times, sorted by id unless they are too many to be held in memory.

    Args:
        read: function that opens the corpus.
        name: name of the corpus in errors.
        unit: word for a document in errors.
        as_written: whether the original order is kept, for values drawn from one stream over the corpus.
    """

    def __init__(
        self, read: Callable[[], Iterator[Item]], *, name: str, unit: str = "document", as_written: bool = False
    ) -> None:
        self._read_anew, self._as_written = read, as_written
        self._passes: Passes[Item] = Passes(name, unit=unit)
        self._name = name
        self._held: list[Item] | None = None
        self._begun = False
        self._copies = Copies()

    @property
    def documents(self) -> int:
        """The number of documents; known after `first`."""
        return self._passes.items

    @property
    def hexdigest(self) -> str:
        """The hash of the corpus: 32 hexadecimal digits of BLAKE2b; known after `first`."""
        return self._passes.hexdigest(any_order=not self._as_written)

    def first(self) -> Iterator[Item]:
        """Yield the documents as they are read; the caller must exhaust the iterator, once."""
        self._begun, self._copies = True, Copies()
        documents: list[Item] | None = []
        size = 0
        for document in self._passes.watch(self._read_anew):
            self._copies.add(document)
            if documents is not None:
                documents.append(document)
                size += A_DOCUMENT + sum(map(len, document.text()))
                documents = documents if size <= MOST_HELD else None
            yield document
        if documents is not None:
            self._held = documents if self._as_written else sorted(documents, key=lambda document: document.id)

    def read(self) -> Iterator[Item]:
        """Yield the documents.

        Raises:
            InputError: they differ from an earlier reading because something writes to the files.
        """
        if not self._begun:
            for _ in self.first():
                pass
        return self._passes.watch(self._read_anew) if self._held is None else iter(self._held)

    def notes(self) -> list[str]:
        """Return notes on the corpus for the user: copies of documents, if they are many."""
        return list(filter(None, [self._copies.note(self._name)]))
