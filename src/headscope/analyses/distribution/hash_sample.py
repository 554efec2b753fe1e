"""A sample of rows: those with the smallest hashes of each cell."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.kept import State

BEFORE, AFTER = 10, 5
"""Number of tokens kept on either side of the row's token."""
PADDING, NO_KEY = -1, -1
"""The id beyond the ends of an input, and the key of a learned sink."""
ROW = np.dtype(
    [
        ("cell", np.int64),
        ("hash", np.uint64),
        ("segment", np.int32),
        ("row", np.int32),
        ("value", np.float32),
        ("key", np.int32),
        ("weight", np.float32),
        ("key_id", np.int32),
        ("ids", np.int32, BEFORE + 1 + AFTER),
    ]
)
"""A row: its cell, its hash, the number of its segment, its position and value; position, weight and id of its
strongest key; ids of the tokens around it."""
_LARGEST = np.iinfo(np.uint64).max
_FEWEST_WAITING = 4096

Segment = tuple[str, int]


class HashSample:
    """The rows with the smallest hashes of each of many cells (a store of an accumulator).

    The order in which rows come does not matter. A row of `ROW` takes 100 bytes; each segment's name is stored once.

    Args:
        cells: number of cells.
        most: number of rows kept of each.
        row: dtype of a row; has `cell`, `hash` and `segment`.

    Attributes:
        least: bound below which a row is kept, `[cell]`: the largest kept hash, once a cell is full.
    """

    def __init__(self, cells: int, *, most: int, row: np.dtype[Any] = ROW) -> None:
        self.cells, self.most, self.row = cells, most, row
        self.least = np.full(cells, _LARGEST, dtype=np.uint64)
        self._rows = np.zeros(0, dtype=row)
        self._waiting: list[NDArray[Any]] = []
        self._numbers: dict[Segment, int] = {}

    def offer(self, rows: NDArray[Any], segments: Sequence[Segment]) -> None:
        """Add rows; those whose hashes are among the smallest of their cell are kept.

        Args:
            rows: of `row`; `segment` counts within `segments`.
            segments: document and index of each segment.
        """
        if not len(rows):
            return
        used = np.unique(rows["segment"])
        numbers = np.zeros(len(segments), dtype=np.int32)
        for segment in used.tolist():
            numbers[segment] = self._numbers.setdefault(segments[segment], len(self._numbers))
        rows = rows.copy()
        rows["segment"] = numbers[rows["segment"]]
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) > max(_FEWEST_WAITING, len(self._rows)):
            self._settle()

    def rows(self) -> tuple[NDArray[Any], list[Segment]]:
        """Return the kept rows, sorted by cell and hash, and their segments, sorted."""
        self._settle()
        names = sorted(self._numbers)
        order = np.zeros(len(names), dtype=np.int32)
        for index, name in enumerate(names):
            order[self._numbers[name]] = index
        rows = self._rows.copy()
        rows["segment"] = order[rows["segment"]]
        return rows, names

    def merge(self, other: "HashSample") -> None:
        """Add the rows of another sample."""
        self.offer(*other.rows())

    def state(self) -> State:
        """Return the rows, column by column, and the segments."""
        rows, segments = self.rows()
        state: State = {name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()}
        state["segments"] = np.frombuffer(json.dumps(segments).encode(), dtype=np.uint8).copy()
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state()` returned."""
        rows = np.zeros(len(state["cell"]), dtype=self.row)
        for name in self.row.names or ():
            rows[name] = state[name]
        self.offer(rows, [(document, index) for document, index in json.loads(bytes(state["segments"]))])

    def _settle(self) -> None:
        """Drop all but the rows with the smallest hashes of each cell, and segments without rows."""
        if not self._waiting:
            return
        rows = np.concatenate([self._rows, *self._waiting])
        self._waiting = []
        self._rows = smallest(rows, most=self.most)
        cell = self._rows["cell"]
        full = (
            np.flatnonzero(cell[self.most - 1 :] == cell[: max(0, len(cell) - self.most + 1)]) + self.most - 1
        )
        self.least[cell[full]] = self._rows["hash"][full]
        used, numbers = np.unique(self._rows["segment"], return_inverse=True)
        self._rows["segment"] = numbers
        names = list(self._numbers)
        self._numbers = {names[old]: new for new, old in enumerate(used.tolist())}


def smallest(rows: NDArray[Any], *, most: int) -> NDArray[Any]:
    """Return the rows with the smallest hashes of each cell, sorted by cell and hash.

    Args:
        rows: with the fields `cell` and `hash`.
        most: number of rows per cell.
    """
    # Only kept rows are copied, and only once: they may be many bytes each.
    order = np.lexsort((rows["hash"], rows["cell"]))
    cells = rows["cell"][order]
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    lengths = np.diff(begins, append=len(rows))
    within = np.arange(len(rows)) - np.repeat(begins, lengths)
    return np.asarray(rows[order[within < most]])
