"""Several readings of one corpus, which must all give the same documents."""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Generic, NoReturn, TypeVar

from headscope.corpora.identity import Identified
from headscope.counted import count
from headscope.errors import InputError

Item = TypeVar("Item", bound=Identified)


class Passes(Generic[Item]):
    """Watches a corpus that is read more than once: a file may be written to between two readings, or during one.

    The first reading is remembered as a hash of each document, 8 bytes: of its id, and of whether its lines are inputs
    as they stand. A later reading is compared as it comes, so that no run ends that was measured on other documents. A
    reading that stops early, as with a limit, is compared as far as it goes.

    Args:
        name: what errors call the corpus.
        unit: what errors call a document.
    """

    def __init__(self, name: str, *, unit: str = "document") -> None:
        self.name, self.unit = name, unit
        self._known = array("Q")
        self._whole = False

    @property
    def items(self) -> int:
        """How many documents are known."""
        return len(self._known)

    def hexdigest(self, *, any_order: bool) -> str:
        """Return the hash of the documents that are known: 32 hexadecimal digits of BLAKE2b.

        Args:
            any_order: whether it is the same in whatever order they came.
        """
        import numpy as np  # here: whoever only reads a corpus does without

        known = np.array(self._known, dtype="<u8")
        return blake2b((np.sort(known) if any_order else known).tobytes(), digest_size=16).hexdigest()

    def watch(self, read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        """Yield what a reading gives.

        Raises:
            InputError: what `read` raises; a document is another than in an earlier reading, is missing, or is new.
        """
        index = 0
        try:
            for item in read():
                self._compare(index, f"{item.id} whole" if getattr(item, "whole", False) else item.id)
                index += 1
                yield item
        except InputError as error:
            if self._whole and not isinstance(error, _Changed):  # it was read to its end before
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
    """A reading that gave something else."""
