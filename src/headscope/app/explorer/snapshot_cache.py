"""A cache of recent looks, limited by their size in bytes."""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar, runtime_checkable

from cachetools import LRUCache


@runtime_checkable
class Sized(Protocol):
    """An object that knows its size in bytes."""

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...


Kept = TypeVar("Kept", bound=Sized)


class Recent(Generic[Kept]):
    """A cache of objects by name that drops the least recently used ones first.

    Args:
        most: maximum number of bytes; the newest object is kept in any case.
    """

    def __init__(self, most: int) -> None:
        # An object larger than the cache counts as the whole cache.
        self._kept: LRUCache[str, Kept] = LRUCache(most, getsizeof=lambda thing: min(thing.size, most))
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Number of bytes in the cache."""
        with self._lock:
            return sum(thing.size for thing in self._kept.values())

    def get(self, name: str) -> Kept | None:
        """Return an object, which becomes the most recently used one, or None."""
        with self._lock:
            return self._kept.get(name)

    def put(self, name: str, thing: Kept) -> None:
        """Add an object; others may be dropped."""
        with self._lock:
            self._kept.pop(name, None)  # else others would be dropped to fit both the old and the new one
            self._kept[name] = thing

    def __len__(self) -> int:
        return len(self._kept)
