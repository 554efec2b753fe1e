"""Sums by group of documents, and the number of distinct documents, which a few groups cannot give."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headscope.statistics.sums.kept import State, within

GROUPS = 256


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


def group_of(document: str, groups: int = GROUPS) -> int:
    """Return the group of a document: BLAKE2b of its id, modulo the number of groups."""
    return int.from_bytes(blake2b(document.encode(), digest_size=8).digest(), "little") % groups


def group_numbers(documents: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each entry's document, from 0 in order; of its group if there are more than `GROUPS`."""
    few = len(set(documents)) <= GROUPS
    names = np.array(documents if few else [group_of(document) for document in documents])
    return np.unique(names, return_inverse=True)[1].reshape(-1)


class GroupedSums:
    """Named sums: a set for each document up to `groups` documents, a set for each group beyond.

    Memory is bounded, whatever the number of documents. The choice of documents or groups depends only on the
    corpus, never on the order in which it is read; float64 sums then agree up to rounding.

    Args:
        shapes: the shape of each named sum.
        groups: the number of groups, 256.
        dtypes: types of sums by name; other sums are int32 counts if their name begins with `n_`, otherwise float64.
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        *,
        groups: int = GROUPS,
        dtypes: Mapping[str, DTypeLike] | None = None,
    ) -> None:
        self.shapes = dict(shapes)
        by_name = {name: np.int32 if name.startswith("n_") else np.float64 for name in self.shapes}
        self.dtypes: dict[str, DTypeLike] = {**by_name, **(dtypes or {})}
        self.groups = groups
        self.folded = False
        self._sums: dict[str, dict[str, NDArray[Any]]] = {}

    def add(self, document: str, **values: NDArray[Any]) -> None:
        """Add values to a document's sums."""
        self._add(self._key(document), values)
        self._fold_if_many()

    def add_at(self, document: str, places: NDArray[np.int64], **values: NDArray[Any]) -> None:
        """Add values to some indices of the first axis of a document's sums; every index occurs once.

        It is cheaper than `add` if a document touches few of many indices.
        """
        sums = self._of(self._key(document))
        for name, value in values.items():
            sums[name][places] += value.astype(sums[name].dtype, copy=False)
        self._fold_if_many()

    def merge(self, other: "GroupedSums") -> None:
        """Add the sums of another object."""
        if other.folded:
            self.fold()
        # The keys are sorted, since another order of addition changes the last digits.
        for key, values in sorted(other._sums.items(), key=lambda item: item[0]):
            self._add(self._key(key) if not other.folded else key, values)
        self._fold_if_many()

    def fold(self) -> None:
        """Keep sums by group from now on, as for more than `groups` documents."""
        if self.folded:
            return
        documents, self._sums, self.folded = self._sums, {}, True
        for document in sorted(documents):
            self._add(self._key(document), documents[document])

    def subset(self, wanted: Callable[[int], bool]) -> "GroupedSums":
        """Return the sums of the documents whose group is wanted; the arrays are shared with this object."""
        subset = type(self)(self.shapes, groups=self.groups, dtypes=self.dtypes)
        subset.folded = self.folded
        subset._sums = {
            key: sums
            for key, sums in self._sums.items()
            if wanted(int(key) if self.folded else group_of(key, self.groups))
        }
        return subset

    def stacked(self) -> dict[str, NDArray[Any]]:
        """Return every sum as an array `[group, ...]`, groups in the order of their keys."""
        keys = sorted(self._sums)
        return {
            name: np.stack([self._sums[key][name] for key in keys])
            if keys
            else np.zeros((0, *shape), dtype=self.dtypes[name])
            for name, shape in self.shapes.items()
        }

    def __len__(self) -> int:
        return len(self._sums)

    def state(self) -> State:
        """Return keys and sums as arrays."""
        keys = sorted(self._sums)
        stacked = self.stacked()
        return {
            "keys": np.frombuffer("\n".join(keys).encode(), dtype=np.uint8).copy(),
            "folded": np.array(int(self.folded)),
            "groups": np.array(self.groups),
            **stacked,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], *, prefix: str = "") -> "GroupedSums":
        """Rebuild from `state()`, or from the arrays with a name prefix within a larger state."""
        state = within(state, prefix)
        names = [name for name in state if name not in ("keys", "folded", "groups")]
        sums = cls(
            {name: state[name].shape[1:] for name in names},
            groups=int(state["groups"]),
            dtypes={name: state[name].dtype for name in names},
        )
        sums.folded = bool(state["folded"])
        text = state["keys"].tobytes().decode()
        for index, key in enumerate(text.split("\n") if text else []):
            sums._sums[key] = {name: np.array(state[name][index]) for name in names}
        return sums

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore from `state()`, of sums of the same shapes.

        Raises:
            ValueError: the shapes differ.
        """
        restored = type(self).from_state(state) if "keys" in state else type(self)({})
        if restored.shapes != self.shapes:
            raise ValueError(f"expected sums of the shapes {self.shapes}, found {restored.shapes}; compute them again")
        self.groups, self.folded, self._sums = restored.groups, restored.folded, restored._sums

    def _key(self, document: str) -> str:
        return f"{group_of(document, self.groups):04d}" if self.folded else document

    def _of(self, key: str) -> dict[str, NDArray[Any]]:
        if key not in self._sums:
            self._sums[key] = {name: np.zeros(shape, dtype=self.dtypes[name]) for name, shape in self.shapes.items()}
        return self._sums[key]

    def _add(self, key: str, values: Mapping[str, NDArray[Any]]) -> None:
        sums = self._of(key)
        for name, value in values.items():
            sums[name] += value.astype(sums[name].dtype, copy=False)

    def _fold_if_many(self) -> None:
        if len(self._sums) > self.groups:
            self.fold()


def with_layer_means(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Append the mean over a layer's heads, so that one call gives the intervals of both.

    Args:
        sums: sums or counts of each document (or group of documents), `[group, layer, head, ...]`.

    Returns:
        `[group, layer, head + 1, ...]`.
    """
    return np.concatenate([sums, sums.mean(2, keepdims=True)], axis=2)
