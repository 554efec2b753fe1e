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
