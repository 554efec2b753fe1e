"""The last looks, as many as fit into a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar, runtime_checkable


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
        self.most = most
        self.bytes = 0
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> Kept | None:
        """Return a thing, which is the newest now, or None."""
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
            return found

    def put(self, name: str, thing: Kept) -> None:
        """Keep a thing; others may go."""
        with self._lock:
            self._drop(name)
            self._kept[name] = thing
            self.bytes += thing.size
            while self.bytes > self.most and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def _drop(self, name: str) -> None:
        gone = self._kept.pop(name, None)
        if gone is not None:
            self.bytes -= gone.size

    def __len__(self) -> int:
        return len(self._kept)
