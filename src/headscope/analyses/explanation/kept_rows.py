"""Store a sample of rows with the attention of all heads: the rows with the smallest hashes that fit into a bound."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.row_context import Tokens
from headscope.statistics.sums.kept import State

MOST_ROWS = 2000
MOST_BYTES = 128 << 20
"""Most bytes of attention that are kept for a kind: with many heads or long rows, fewer rows are kept."""
_MEASURES = 2
_LARGEST = int(np.iinfo(np.uint64).max)
Segment = tuple[str, int]
RowKey = tuple[int, str, int, int]
"""Hash, document, index of the segment, position."""
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class KeptSegment:
    """The tokens of both axes of an input, the same object in self-attention, and the annotation of its words."""

    queries: Tokens
    keys: Tokens
    fields: Mapping[str, object]


class KeptRows:
    """The rows of a kind of attention with the smallest hashes, each with the attention of every head.

    Rows are kept in the order of their hashes as long as their attention fits into the bound. The sample therefore
    depends neither on the order of the rows nor on the division of the corpus.

    Args:
        cells: number of layers, and number of heads in a layer.
        most: largest number of rows.
        bound: largest number of bytes of attention.

    Attributes:
        rows: attention of each row, `[measure, layer, head, key + 1]`, by weight and by norm. NaN where the key is not
            visible, and where norms are not known; the last key is the learned sink, NaN where there is none.
        segments: inputs of the rows.
        limit: hash of the first row that did not fit. No row from this hash on is kept; otherwise a shorter row with a
            larger hash could be kept.
    """

    def __init__(self, cells: tuple[int, int], *, most: int = MOST_ROWS, bound: int = MOST_BYTES) -> None:
        self.cells, self.most, self.bound = cells, most, bound
        self.rows: dict[RowKey, Floats] = {}
        self.segments: dict[Segment, KeptSegment] = {}
        self.limit = _LARGEST
        self._keys: dict[RowKey, int] = {}

    def admit(self, candidates: Mapping[RowKey, int]) -> list[RowKey]:
        """Add the candidates that belong to the sample, drop the rows that no longer do, and return the new rows.

        Args:
            candidates: number of keys of each candidate row.
        """
        merged = {row: keys for row, keys in {**self._keys, **candidates}.items() if row[0] < self.limit}
        bytes_of_key = _MEASURES * 4 * self.cells[0] * self.cells[1]
        order = sorted(merged)
        sizes = np.cumsum([(merged[row] + 1) * bytes_of_key for row in order], dtype=np.float64)
        number = min(self.most, int(np.searchsorted(sizes, self.bound, side="right")))
        admitted = set(order[:number])
        if number < len(order):
            self.limit = order[number][0]
        for row in [row for row in self._keys if row not in admitted]:
            del self._keys[row]
            self.rows.pop(row, None)
        fresh = [row for row in candidates if row in admitted and row not in self.rows]
        for row in fresh:
            keys = self._keys[row] = candidates[row]
            self.rows[row] = np.full((_MEASURES, *self.cells, keys + 1), np.nan, dtype=np.float32)
        used = {row[1:3] for row in self._keys}
        self.segments = {name: segment for name, segment in self.segments.items() if name in used}
        return fresh

    def merge(self, other: "KeptRows") -> None:
        """Add the rows of another sample."""
        self.limit = min(self.limit, other.limit)
        for row in self.admit(other._keys):
            self.rows[row] = other.rows[row]
            self.segments[row[1:3]] = other.segments[row[1:3]]

    def state(self) -> State:
        """Return the rows in the order of their hashes, and the segments in the order of their names."""
        order, names = sorted(self.rows), sorted(self.segments)
        numbers = {name: number for number, name in enumerate(names)}
        segments = [self.segments[name] for name in names]
        square = [segment.queries is segment.keys for segment in segments]
        sides = [side for each in segments for side in (each.queries, each.keys)]
        about = {"names": names, "square": square, "fields": [dict(each.fields) for each in segments]}
        return {
            "limit": np.array(self.limit, dtype=np.uint64),
            "hash": np.array([row[0] for row in order], dtype=np.uint64),
            "segment": np.array([numbers[row[1:3]] for row in order], dtype=np.int32),
            "row": np.array([row[3] for row in order], dtype=np.int32),
            "keys": np.array([self._keys[row] for row in order], dtype=np.int32),
            "attention": _joined([self.rows[row].reshape(-1) for row in order], np.float32),
            "lengths": np.array([len(side) for side in sides], dtype=np.int32),
            "ids": _joined([side.ids for side in sides], np.int64),
            "classes": _joined([side.classes for side in sides], np.int64),
            "word_ids": _joined([side.word_ids for side in sides], np.int64),
            "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Restore the rows and segments from the arrays returned by `state()`."""
        self.limit = int(state["limit"])
        if not len(state["hash"]):
            return
        about = json.loads(bytes(state["about"]))
        ends = np.cumsum(state["lengths"])[:-1]
        columns = (np.split(state[name], ends) for name in ("ids", "classes", "word_ids"))
        sides = [
            Tokens(ids=ids, classes=classes, word_ids=word_ids) for ids, classes, word_ids in zip(*columns, strict=True)
        ]
        names: list[Segment] = [(document, index) for document, index in about["names"]]
        for at, (name, square, fields) in enumerate(zip(names, about["square"], about["fields"], strict=True)):
            queries = sides[2 * at]
            self.segments[name] = KeptSegment(queries, queries if square else sides[2 * at + 1], fields)
        keys = state["keys"].astype(np.int64)
        ends = np.cumsum((keys + 1) * _MEASURES * self.cells[0] * self.cells[1])[:-1]
        columns = (state[name].tolist() for name in ("hash", "segment", "row", "keys"))
        for attention, hash_, segment, position, number in zip(
            np.split(state["attention"], ends), *columns, strict=True
        ):
            row = (int(hash_), *names[segment], position)
            self._keys[row] = number
            self.rows[row] = np.array(attention).reshape(_MEASURES, *self.cells, number + 1)


def _joined(parts: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)
