"""The rows that are kept of every bin as examples: those with the smallest hashes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.kept import State

BEFORE, AFTER = 10, 5
"""Tokens that are kept on either side of a row's own."""
PADDING, NO_KEY = -1, -1
"""What stands for a token beyond the ends of the input, and for a learned sink."""
ROW = np.dtype(
    [
        ("place", np.int64),
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
"""A row: where it is kept, its hash, number of its segment, position, value; position, weight and id of its strongest
key; ids of the tokens around it."""
_LARGEST = np.iinfo(np.uint64).max
_FEWEST_WAITING = 4096

Segment = tuple[str, int]


class KeptRows:
    """Of each of many places the rows with the smallest hashes (a store of an accumulator).

    What came first does not matter; the rows are held, 100 bytes each of `ROW`, and each segment's name once.

    Args:
        places: how many there are.
        most: rows kept of each.
        row: what is kept of one; has `place`, `hash` and `segment`.

    Attributes:
        least: what a row's hash must lie below to be kept, `[place]`: the largest that is, once there are enough.
    """

    def __init__(self, places: int, *, most: int, row: np.dtype[Any] = ROW) -> None:
        self.places, self.most, self.row = places, most, row
        self.least = np.full(places, _LARGEST, dtype=np.uint64)
        self._kept = np.zeros(0, dtype=row)
        self._waiting: list[NDArray[Any]] = []
        self._numbers: dict[Segment, int] = {}

    def offer(self, rows: NDArray[Any], segments: Sequence[Segment]) -> None:
        """Take in rows of which those are kept whose hashes are among the smallest of their place.

        Args:
            rows: of `row`; `segment` counts within `segments`.
            segments: document and index of each.
        """
        if not len(rows):
            return
        used = np.unique(rows["segment"])
        numbers = np.zeros(len(segments), dtype=np.int32)
        for place in used.tolist():
            numbers[place] = self._numbers.setdefault(segments[place], len(self._numbers))
        rows = rows.copy()
        rows["segment"] = numbers[rows["segment"]]
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) > max(_FEWEST_WAITING, len(self._kept)):
            self._settle()

    def rows(self) -> tuple[NDArray[Any], list[Segment]]:
        """Return what is kept, by place and hash, and the segments that it is of, in order."""
        self._settle()
        names = sorted(self._numbers)
        order = np.zeros(len(names), dtype=np.int32)
        for place, name in enumerate(names):
            order[self._numbers[name]] = place
        kept = self._kept.copy()
        kept["segment"] = order[kept["segment"]]
        return kept, names

    def merge(self, other: "KeptRows") -> None:
        """Take in what another kept."""
        self.offer(*other.rows())

    def state(self) -> State:
        """Return the rows, column by column, and the segments."""
        kept, segments = self.rows()
        state: State = {name: np.ascontiguousarray(kept[name]) for name in self.row.names or ()}
        state["segments"] = np.frombuffer(json.dumps(segments).encode(), dtype=np.uint8).copy()
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state()` returned."""
        rows = np.zeros(len(state["place"]), dtype=self.row)
        for name in self.row.names or ():
            rows[name] = state[name]
        self.offer(rows, [(document, index) for document, index in json.loads(bytes(state["segments"]))])

    def _settle(self) -> None:
        """Let go of all but the rows with the smallest hashes of each place, and of segments that no row is of."""
        if not self._waiting:
            return
        rows = np.concatenate([self._kept, *self._waiting])
        self._waiting = []
        self._kept = smallest(rows, most=self.most)
        place = self._kept["place"]
        full = (
            np.flatnonzero(place[self.most - 1 :] == place[: max(0, len(place) - self.most + 1)])
            + self.most
            - 1
        )
        self.least[place[full]] = self._kept["hash"][full]
        used, numbers = np.unique(self._kept["segment"], return_inverse=True)
        self._kept["segment"] = numbers
        names = list(self._numbers)
        self._numbers = {names[old]: new for new, old in enumerate(used.tolist())}


def smallest(rows: NDArray[Any], *, most: int) -> NDArray[Any]:
    """Return the rows with the smallest hashes of each place, by place and hash.

    Args:
        rows: with the fields `place` and `hash`.
        most: of a place.
    """
    # Rows are copied once, those that are kept: they may be many bytes each.
    order = np.lexsort((rows["hash"], rows["place"]))
    places = rows["place"][order]
    begins = np.flatnonzero(np.diff(places, prepend=-1))
    lengths = np.diff(begins, append=len(rows))
    within = np.arange(len(rows)) - np.repeat(begins, lengths)
    return np.asarray(rows[order[within < most]])
