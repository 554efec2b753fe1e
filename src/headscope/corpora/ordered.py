"""A corpus that is read several times: every reading is compared with the first, in the order of its documents' ids.

An id is a hash of the content: documents that are read in the order of their ids give the same inputs, batches and
sums to the last digit, whatever order and files they were written in.
"""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Generic, NoReturn, TypeVar

from headscope.corpora.document import Copies, Identified
from headscope.counted import count
from headscope.errors import InputError

Item = TypeVar("Item", bound=Identified)
MOST_HELD = 1 << 25
"""Maximum number of characters of a corpus that is held in memory to be sorted. A larger one is read from its files
each time, in their order: its draws and groups are the same in any order, but its batches and so the last digits of
float32 are not."""
A_DOCUMENT = 1 << 9
"""Characters that a document counts in addition to its own, so that millions of one-letter documents are not held."""


class Passes(Generic[Item]):
    """Check a corpus that is read more than once, because a file may change between two readings, or during one.

    The first reading is stored as an 8-byte hash of each document: of its id, and of whether its lines are whole
    inputs. A later reading is compared while it runs, so that no run finishes that was measured on other documents. A
    reading that stops early, such as one with a limit, is compared up to that point.

    Args:
        name: name of the corpus in errors.
        unit: word for a document in errors.
    """

    def __init__(self, name: str, *, unit: str = "document") -> None:
        self.name, self.unit = name, unit
        self._known = array("Q")
        self._whole = False

    @property
    def items(self) -> int:
        """The number of known documents."""
        return len(self._known)

    def hexdigest(self, *, any_order: bool) -> str:
        """Return the hash of the known documents: 32 hexadecimal digits of BLAKE2b.

        Args:
            any_order: whether the hash is independent of their order.
        """
        import numpy as np  # here, so that code which only reads a corpus does not import it

        known = np.array(self._known, dtype="<u8")
        return blake2b((np.sort(known) if any_order else known).tobytes(), digest_size=16).hexdigest()

    def watch(self, read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        """Yield the items of a reading, comparing them with the first reading.

        Raises:
            InputError: as in `read`; or a document is missing, new, or another than in an earlier reading.
        """
        index = 0
        try:
            for item in read():
                self._compare(index, f"{item.id} whole" if getattr(item, "whole", False) else item.id)
                index += 1
                yield item
        except InputError as error:
            if self._whole and not isinstance(error, _Changed):  # an earlier reading reached the end
                self._refuse(str(error))
            raise
        if index < len(self._known):
            self._refuse(f"it has {count(index, self.unit)} and had {len(self._known):,}")
        self._whole = True

    def _compare(self, index: int, identity: str) -> None:
        key = int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "little")
        if index == len(self._known) and not self._whole:
            self._known.append(key)
        elif index == len(self._known):
            self._refuse(f"it goes on behind {self.unit} {index:,}, which was its last")
        elif self._known[index] != key:
            self._refuse(f"{self.unit} {index + 1:,} is another than before")

    def _refuse(self, what: str) -> NoReturn:
        raise _Changed(f"{self.name} changed while it was read: {what}; run again when nothing writes to it") from None


class _Changed(InputError):
    """An error for a reading that differs from an earlier one."""


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
