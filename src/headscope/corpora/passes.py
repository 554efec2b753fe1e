"""Several readings of one corpus, which must all give the same documents."""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Generic, NoReturn, TypeVar

from headscope.counted import count
from headscope.errors import InputError

Item = TypeVar("Item")


class Passes(Generic[Item]):
    """Watches a corpus that is read more than once: a file may be written to between two readings, or during one.

    The first reading is remembered as a hash of each document, 8 bytes; what a later one gives is compared as it
    comes, so that nothing is finished that was measured on other documents. One that stops early, as with a limit,
    is compared as far as it goes.

    Args:
        name: what errors call the corpus.
        content: the bytes that stand for a document.
        unit: what errors call a document.
    """

    def __init__(self, name: str, content: Callable[[Item], bytes], *, unit: str = "document") -> None:
        self.name, self.unit = name, unit
        self._content = content
        self._known = array("Q")
        self._hash = blake2b(digest_size=16)
        self._whole = False

    @property
    def items(self) -> int:
        """How many documents are known."""
        return len(self._known)

    @property
    def hexdigest(self) -> str:
        """The hash of the documents that are known, one after another: 32 hexadecimal digits of BLAKE2b."""
        return self._hash.hexdigest()

    def watch(self, read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        """Yield what a reading gives.

        Raises:
            InputError: what `read` raises; a document is another than in an earlier reading, is missing, or is new.
        """
        place = 0
        try:
            for item in read():
                self._compare(place, self._content(item))
                place += 1
                yield item
        except InputError as error:
            if self._whole and not isinstance(error, _Changed):  # it was read to its end before
                self._refuse(str(error))
            raise
        if place < len(self._known):
            self._refuse(f"it has {count(place, self.unit)} and had {len(self._known):,}")
        self._whole = True

    def _compare(self, place: int, content: bytes) -> None:
        key = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
        if place == len(self._known) and not self._whole:
            self._known.append(key)
            self._hash.update(content)
        elif place == len(self._known):
            self._refuse(f"it goes on behind {self.unit} {place:,}, which was its last")
        elif self._known[place] != key:
            self._refuse(f"{self.unit} {place + 1:,} is another than before")

    def _refuse(self, what: str) -> NoReturn:
        raise _Changed(
            f"{self.name} changed while it was read: {what}; run again when nothing writes to it"
        ) from None


class _Changed(InputError):
    """A reading that gave something else."""
