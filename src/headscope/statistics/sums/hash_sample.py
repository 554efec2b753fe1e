"""A seeded sample of what a scan reads: of each cell the items with the smallest hashes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headscope.statistics.sums.kept import State, within

SAMPLED = (("cell", np.int32), ("hash", np.uint64), ("segment", np.int32))
"""The fields with which the dtype of an item begins: its cell, its hash, the number of its segment."""
_LARGEST = np.iinfo(np.uint64).max
_LEAST_WAITING = 1 << 19
_VECTORS = "vectors."

SegmentName = tuple[str, int]
"""Document and index of a segment."""


@dataclass(frozen=True)
class Sampled:
    """The items of a sample.

    Attributes:
        items: of the sample's dtype, sorted by cell and hash; `segment` counts within `segments`.
        segments: document and index of each segment of the items.
        vectors: by name, what was offered with each item, `[item, ...]`.
    """

    items: NDArray[Any]
    segments: Sequence[SegmentName]
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class HashSample:
    """Keep, of each cell, the items with the smallest hashes (a store of an accumulator).

    An item is a token, a row of a head, or whatever else has a document, a segment and a position; `row_hashes` gives
    its hash, which depends on these and on the seed alone. The sample is therefore uniform, and the same in whatever
    order, batches and shards the items come. Memory is bounded by the number of cells. Items whose hash is not below
    `least` need not be offered, which spares reading their facts:

        sample = HashSample([*SAMPLED, ("value", np.float32)], most=100)
        items = np.zeros(len(hashes), dtype=sample.dtype)
        items["hash"], items["segment"], items["value"] = hashes, segments_of_items, values
        sample.offer(items[hashes < sample.least[0]], batch_segments)

    Args:
        dtype: of an item: the fields of `SAMPLED`, and the facts that are kept of it.
        most: number of items kept of each cell.
        cells: number of cells, a sample each.

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
            items: of `dtype`; `segment` counts within `segments`.
            segments: document and index of each segment.
            vectors: by name, further numbers of each item, `[item, ...]`, where their shape is known only now; the same
                names each time.

        Raises:
            ValueError: vectors of other names are kept.
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
        """Restore what `state()` returned."""
        items = np.zeros(len(state["hash"]), dtype=self.dtype)
        for name in self.dtype.names or ():
            items[name] = state[name]
        segments = [(document, index) for document, index in json.loads(bytes(state["segments"]))]
        self.offer(items, segments, within(state, _VECTORS))

    def _settle(self) -> None:
        """Drop all but the items with the smallest hashes of each cell, and segments without items."""
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
    """Return the indices of the items with the smallest hashes of each cell, by cell and hash.

    Args:
        items: with the fields `cell` and `hash`.
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
