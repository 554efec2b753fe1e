"""The number of distinct documents, up to a limit, which a few groups of documents cannot give."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.sums.kept import State


class Distinct:
    """The smallest hashes of added names: an exact count up to `most`, in bounded memory.

    Args:
        most: largest number of names that are distinguished.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._hashes: set[int] = set()

    def add(self, names: Iterable[str]) -> None:
        """Add names; a repeated name changes nothing."""
        self._take(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") for name in names)

    def __len__(self) -> int:
        return len(self._hashes)

    def merge(self, other: "Distinct") -> None:
        """Add the names of another set."""
        self._take(other._hashes)

    def state(self) -> State:
        """Return the hashes, `[name]`, in order."""
        return {"hashes": np.array(sorted(self._hashes), dtype=np.uint64)}

    def restore(self, state: Mapping[str, NDArray[np.uint64]]) -> None:
        """Restore a state returned by `state`."""
        self._hashes = set(state["hashes"].tolist())

    def _take(self, hashes: Iterable[int]) -> None:
        self._hashes.update(hashes)
        if len(self._hashes) > self.most:
            self._hashes = set(sorted(self._hashes)[: self.most])
