"""The clearest segments of each head as they are kept: a short list a statistic, each segment's tokens once."""

import json
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout
from headscope.statistics.kept import State

Entry = tuple[float, str, int]
"""A kept segment: minus its score, its document, its index; in this order the clearest comes first."""

_FIELDS = ("ids", "token_types", "word_ids")


class ClearestSegments:
    """The segments with the highest scores for each place, and their tokens (a store of an accumulator).

    Equal scores go by document and segment, so that the order in which they are offered does not matter.

    Args:
        layout: the kinds of attention and their sizes.
        statistics: how many statistics a head has.
        most: segments kept for each head and statistic.

    Attributes:
        kept: by kind and 0-based (layer, head, statistic), the entries, the clearest first.
        least: by kind, what a score must reach to be kept: that of the last, once there are enough,
            `[layer, head, statistic]`.
        segments: the kept segments by document and index: tokens only, neither words nor fields.
    """

    def __init__(self, layout: Sequence[KindLayout], *, statistics: int, most: int) -> None:
        self.most = most
        self.kept: dict[str, dict[tuple[int, int, int], list[Entry]]] = {part.kind: {} for part in layout}
        self.least = {part.kind: np.full((part.layers, part.heads, statistics), -np.inf) for part in layout}
        self.segments: dict[tuple[str, int], Segment] = {}
        self._uses: Counter[tuple[str, int]] = Counter()

    def offer(self, kind: str, place: tuple[int, int, int], entry: Entry, segment: Segment) -> None:
        """Keep a segment if it is among the clearest of a place, and let go of the one that it pushes out."""
        kept = self.kept[kind].setdefault(place, [])
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
            self.least[kind][place] = -kept[-1][0]

    def merge(self, other: "ClearestSegments") -> None:
        """Take in what another kept."""
        for kind, places in other.kept.items():
            for place, entries in places.items():
                for entry in entries:
                    self.offer(kind, place, entry, other.segments[entry[1:]])

    def state(self) -> State:
        """Return the kept segments, and for each place its scores and the segments' numbers."""
        keys = sorted(self.segments)
        number = {key: place for place, key in enumerate(keys)}
        segments = [self.segments[key] for key in keys]
        state: State = {
            "keys": np.frombuffer(json.dumps(keys).encode(), dtype=np.uint8).copy(),
            "lengths": np.array([len(segment) for segment in segments], dtype=np.int64),
        }
        for name in _FIELDS:
            parts = [getattr(segment, name) for segment in segments]
            state[name] = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        for kind, places in self.kept.items():
            flat = [(*place, number[e[1:]], -e[0]) for place, kept in sorted(places.items()) for e in kept]
            state[f"places.{kind}"] = np.array([f[:4] for f in flat], dtype=np.int64).reshape(-1, 4)
            state[f"scores.{kind}"] = np.array([f[4] for f in flat], dtype=np.float64)
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state()` returned."""
        ends = np.cumsum(state["lengths"])[:-1]
        columns = [np.split(state[name], ends) for name in _FIELDS]
        segments = [
            Segment(document=document, index=index, **dict(zip(_FIELDS, arrays, strict=True)))
            for (document, index), *arrays in zip(json.loads(bytes(state["keys"])), *columns)
        ]
        for kind in self.kept:
            scores = state[f"scores.{kind}"].tolist()
            for (*place, number), score in zip(state[f"places.{kind}"].tolist(), scores, strict=True):
                segment = segments[number]
                entry = (-score, segment.document, segment.index)
                self.offer(kind, (place[0], place[1], place[2]), entry, segment)


def _tokens_of(segment: Segment) -> Segment:
    """Return a segment without what only its corpus knew."""
    return Segment(
        document=segment.document,
        index=segment.index,
        **{name: getattr(segment, name).astype(np.int64) for name in _FIELDS},
    )
