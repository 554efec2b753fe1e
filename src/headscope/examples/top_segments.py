"""Storage of the top segments of each head: a short list per statistic, and each segment's tokens once."""

import json
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.kept import State

Entry = tuple[float, str, int]
"""A kept segment: minus its score, its document, its index; sorted in this order, the clearest comes first."""

_FIELDS = ("ids", "token_types", "word_ids")


class TopSegments:
    """The segments with the highest scores in each cell, and their tokens (a store of an accumulator).

    A cell is a 0-based (layer, head, statistic). Ties are broken by document and segment, so that the order of offers
    does not matter.

    Args:
        layout: the kinds of attention and their sizes.
        statistics: number of statistics of a head.
        most: number of segments kept in each cell.

    Attributes:
        kept: entries by kind and cell, the clearest first.
        least: by kind, the smallest score that is kept once a cell is full, which is that of its last entry,
            `[layer, head, statistic]`.
        segments: kept segments by document and index: tokens only, neither words nor fields.
    """

    def __init__(self, layout: Sequence[KindLayout], *, statistics: int, most: int) -> None:
        self.most = most
        self.kept: dict[str, dict[tuple[int, int, int], list[Entry]]] = {part.kind: {} for part in layout}
        self.least = {part.kind: np.full((part.layers, part.heads, statistics), -np.inf) for part in layout}
        self.segments: dict[tuple[str, int], Segment] = {}
        self._uses: Counter[tuple[str, int]] = Counter()

    def offer(self, kind: str, cell: tuple[int, int, int], entry: Entry, segment: Segment) -> None:
        """Keep a segment if it is among the clearest of a cell, and drop the one that it replaces."""
        kept = self.kept[kind].setdefault(cell, [])
        if len(kept) == self.most and entry >= kept[-1]:
            return
        insort(kept, entry)
        key = entry[1:]
        self._uses[key] += 1
        if key not in self.segments:
            self.segments[key] = _tokens_of(segment)
        if len(kept) > self.most:
            gone = kept.pop()[1:]
            self._uses[gone] -= 1
            if not self._uses[gone]:
                del self._uses[gone], self.segments[gone]
        if len(kept) == self.most:
            self.least[kind][cell] = -kept[-1][0]

    def merge(self, other: "TopSegments") -> None:
        """Add the segments of another store."""
        for kind, cells in other.kept.items():
            for cell, entries in cells.items():
                for entry in entries:
                    self.offer(kind, cell, entry, other.segments[entry[1:]])

    def state(self) -> State:
        """Return the kept segments, and the scores and segment numbers of each cell."""
        keys = sorted(self.segments)
        number = {key: cell for cell, key in enumerate(keys)}
        segments = [self.segments[key] for key in keys]
        state: State = {
            "keys": np.frombuffer(json.dumps(keys).encode(), dtype=np.uint8).copy(),
            "lengths": np.array([len(segment) for segment in segments], dtype=np.int64),
        }
        for name in _FIELDS:
            arrays = [getattr(segment, name) for segment in segments]
            state[name] = np.concatenate([np.zeros(0, dtype=np.int64), *arrays])
        for kind, cells in self.kept.items():
            flat = [(*cell, number[e[1:]], -e[0]) for cell, kept in sorted(cells.items()) for e in kept]
            state[f"places.{kind}"] = np.array([f[:4] for f in flat], dtype=np.int64).reshape(-1, 4)
            state[f"scores.{kind}"] = np.array([f[4] for f in flat], dtype=np.float64)
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the result of `state()`."""
        ends = np.cumsum(state["lengths"])[:-1]
        columns = [np.split(state[name], ends) for name in _FIELDS]
        segments = [
            Segment(document=document, index=index, **dict(zip(_FIELDS, arrays, strict=True)))
            for (document, index), *arrays in zip(json.loads(bytes(state["keys"])), *columns)
        ]
        for kind in self.kept:
            scores = state[f"scores.{kind}"].tolist()
            for (*cell, number), score in zip(state[f"places.{kind}"].tolist(), scores, strict=True):
                segment = segments[number]
                entry = (-score, segment.document, segment.index)
                self.offer(kind, (cell[0], cell[1], cell[2]), entry, segment)


def _tokens_of(segment: Segment) -> Segment:
    """Return a segment's tokens, without words and fields."""
    return Segment(
        document=segment.document,
        index=segment.index,
        **{name: getattr(segment, name).astype(np.int64) for name in _FIELDS},
    )
