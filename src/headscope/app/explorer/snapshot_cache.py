"""The last looks, as many as fit into a number of bytes."""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar, runtime_checkable

from cachetools import LRUCache


@runtime_checkable
class Sized(Protocol):
    """Something that knows how many bytes it takes."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...


Kept = TypeVar("Kept", bound=Sized)


class Recent(Generic[Kept]):
    """Things by name; those not asked for the longest go first.

    Args:
        most: bytes to keep at most; the newest is kept in any case.
    """

    def __init__(self, most: int) -> None:
        # One that is larger than all the room takes all of it.
        self._kept: LRUCache[str, Kept] = LRUCache(most, getsizeof=lambda thing: min(thing.size, most))
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Bytes that are kept."""
        with self._lock:
            return sum(thing.size for thing in self._kept.values())

    def get(self, name: str) -> Kept | None:
        """Return a thing, which is the newest now, or None."""
        with self._lock:
            return self._kept.get(name)

    def put(self, name: str, thing: Kept) -> None:
        """Keep a thing; others may go."""
        with self._lock:
            self._kept.pop(name, None)  # else others would go for its room and the new one's together
            self._kept[name] = thing

    def __len__(self) -> int:
        return len(self._kept)
