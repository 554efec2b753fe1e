"""A corpus in the order of its documents' ids, so that no number depends on the order in which they come.

An id is a hash of the content: documents that are read in its order make the same inputs, batches and sums to the
last digit, whatever order and files they were written in.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from headscope.corpora.identity import Copies, Identified
from headscope.corpora.passes import Passes

MOST_HELD = 1 << 25
"""Characters of a corpus that is held to be put in order. One that is larger is read from its files each time, in the
order in which it comes: its draws and groups are the same in any, its batches and so the last digits of float32 are
not."""
A_DOCUMENT = 1 << 9
"""Characters that a document counts for beside its own: millions of single letters are not held for a corpus of few."""

Item = TypeVar("Item", bound=Identified)


class Ordered(Generic[Item]):
    """Documents that may be read several times, by their ids where they are not too many to be held.

    Args:
        read: opens the corpus.
        name: what errors call it.
        unit: what errors call a document.
        as_written: whether the order is kept after all, for what is drawn from one stream over the corpus.
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
        """How many there are; known after `first`."""
        return self._passes.items

    @property
    def hexdigest(self) -> str:
        """The hash of the corpus: 32 hexadecimal digits of BLAKE2b; known after `first`."""
        return self._passes.hexdigest(any_order=not self._as_written)

    def first(self) -> Iterator[Item]:
        """Yield the documents as they come, which must be gone through to the end, once."""
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
            InputError: they are not those of an earlier reading: something writes to the files.
        """
        if not self._begun:
            for _ in self.first():
                pass
        return self._passes.watch(self._read_anew) if self._held is None else iter(self._held)

    def notes(self) -> list[str]:
        """Return what the user should see of the corpus: copies of documents, where they are many."""
        return list(filter(None, [self._copies.note(self._name)]))
