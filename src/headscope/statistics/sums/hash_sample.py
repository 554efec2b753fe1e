"""A seeded sample of the items in a scan: those with the smallest hashes in each cell."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headscope.statistics.sums.kept import State, within

SAMPLED = (("cell", np.int32), ("hash", np.uint64), ("segment", np.int32))
"""The first fields of an item's dtype: its cell, its hash, the number of its segment."""
_LARGEST = np.iinfo(np.uint64).max
_LEAST_WAITING = 1 << 19
_VECTORS = "vectors."

SegmentName = tuple[str, int]
"""Document and index of a segment."""


@dataclass(frozen=True)
class Sampled:
    """The items of a sample.

    Attributes:
        items: items of the sample's dtype, sorted by cell and hash; `segment` is an index into `segments`.
        segments: document and index of each segment of the items.
        vectors: the vectors offered with each item, by name, `[item, ...]`.
    """

    items: NDArray[Any]
    segments: Sequence[SegmentName]
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class HashSample:
    """Keep the items with the smallest hashes in each cell (a store of an accumulator).

    An item is a token, a row of a head, or anything else with a document, a segment and a position; `row_hashes` gives
    its hash, which depends only on these and on the seed. The sample is therefore uniform, and does not depend on the
    order, batches and shards in which the items arrive. Memory is bounded by the number of cells. Items whose hash is
    not below `least` need not be offered, which saves reading their values:

        sample = HashSample([*SAMPLED, ("value", np.float32)], most=100)
        items = np.zeros(len(hashes), dtype=sample.dtype)
        items["hash"], items["segment"], items["value"] = hashes, segments_of_items, values
        sample.offer(items[hashes < sample.least[0]], batch_segments)

    Args:
        dtype: dtype of an item: the fields of `SAMPLED`, and the values that are kept for it.
        most: number of items kept per cell.
        cells: number of cells, each with its own sample.

    Attributes:
        least: bound below which an item is kept, `[cell]`: the largest kept hash, once a cell is full.
    """

    def __init__(self, dtype: DTypeLike, *, most: int, cells: int = 1) -> None:
        self.dtype, self.most, self.cells = np.dtype(dtype), most, cells
        self.least = np.full(cells, _LARGEST, dtype=np.uint64)
        self._items = np.zeros(0, dtype=self.dtype)
        self._vectors: dict[str, NDArray[Any]] = {}
        self._waiting: list[tuple[NDArray[Any], Mapping[str, NDArray[Any]]]] = []
        self._numbers: dict[SegmentName, int] = {}

    def offer(
        self, items: NDArray[Any], segments: Sequence[SegmentName], vectors: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Add items; those whose hashes are among the smallest of their cell are kept.

        Args:
            items: items of `dtype`; `segment` is an index into `segments`.
            segments: document and index of each segment.
            vectors: further numbers of each item by name, `[item, ...]`, if their shape was unknown before; the names
                must be the same in every call.

        Raises:
            ValueError: the sample has vectors of other names.
        """
        if not len(items):
            return
        vectors = vectors or {}
        known = self._waiting[-1][1] if self._waiting else self._vectors if len(self._items) else vectors
        if known.keys() != vectors.keys():
            raise ValueError(
                f"expected vectors of {len(known)} layers and sides, came {len(vectors)}; merge scans of one model only"
            )
        numbers = np.zeros(len(segments), dtype=np.int32)
        for segment in np.unique(items["segment"]).tolist():
            numbers[segment] = self._numbers.setdefault(segments[segment], len(self._numbers))
        items = items.copy()
        items["segment"] = numbers[items["segment"]]
        self._waiting.append((items, vectors))
        if sum(_size(*offered) for offered in self._waiting) > max(_LEAST_WAITING, _size(self._items, self._vectors)):
            self._settle()

    def sampled(self) -> Sampled:
        """Return the kept items; their segments are sorted."""
        self._settle()
        names = sorted(self._numbers)
        order = np.zeros(len(names), dtype=np.int32)
        for index, name in enumerate(names):
            order[self._numbers[name]] = index
        items = self._items.copy()
        items["segment"] = order[items["segment"]]
        return Sampled(items, names, dict(self._vectors))

    def merge(self, other: "HashSample") -> None:
        """Add the items of another sample."""
        kept = other.sampled()
        self.offer(kept.items, kept.segments, kept.vectors)

    def state(self) -> State:
        """Return the items, field by field, their segments and vectors."""
        kept = self.sampled()
        return {
            **{name: np.ascontiguousarray(kept.items[name]) for name in self.dtype.names or ()},
            **{_VECTORS + name: array for name, array in kept.vectors.items()},
            "segments": np.frombuffer(json.dumps(kept.segments).encode(), dtype=np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state returned by `state()`."""
        items = np.zeros(len(state["hash"]), dtype=self.dtype)
        for name in self.dtype.names or ():
            items[name] = state[name]
        segments = [(document, index) for document, index in json.loads(bytes(state["segments"]))]
        self.offer(items, segments, within(state, _VECTORS))

    def _settle(self) -> None:
        """Keep only the items with the smallest hashes of each cell, and the segments that have items."""
        if not self._waiting:
            return
        offered, self._waiting = self._waiting, []
        if len(self._items):
            offered.insert(0, (self._items, self._vectors))
        items = np.concatenate([part for part, _ in offered])
        chosen = smallest_hashes(items, most=self.most)
        self._items = items[chosen]
        # One name at a time, so that little is in memory twice.
        self._vectors = {
            name: np.concatenate([vectors[name] for _, vectors in offered])[chosen] for name in offered[0][1]
        }
        cell = self._items["cell"]
        last = self.most - 1
        full = np.flatnonzero(cell[last:] == cell[: max(0, len(cell) - last)]) + last
        self.least[cell[full]] = self._items["hash"][full]
        used, numbers = np.unique(self._items["segment"], return_inverse=True)
        self._items["segment"] = numbers
        names = list(self._numbers)
        self._numbers = {names[old]: new for new, old in enumerate(used.tolist())}


def smallest_hashes(items: NDArray[Any], *, most: int) -> NDArray[np.int64]:
    """Return the indices of the items with the smallest hashes of each cell, sorted by cell and hash.

    Args:
        items: items with the fields `cell` and `hash`.
        most: number of items per cell.
    """
    order = np.lexsort((items["hash"], items["cell"]))
    cells = items["cell"][order]
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    lengths = np.diff(begins, append=len(items))
    within = np.arange(len(items)) - np.repeat(begins, lengths)
    return order[within < most]


def _size(items: NDArray[Any], vectors: Mapping[str, NDArray[Any]]) -> int:
    return items.nbytes + sum(array.nbytes for array in vectors.values())
