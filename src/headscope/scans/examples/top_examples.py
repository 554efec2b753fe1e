"""The segments in which each head shows a behavior most clearly, found and stored during a scan."""

import json
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout
from headscope.statistics.roles import ROLES, SHOWN
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, State

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


# The statistics that define roles, and the one that shows a head without a role.
TOP_EXAMPLE_STATISTICS = tuple(dict.fromkeys(ROLES[role].example for role in SHOWN))
MOST_KEPT = 3
FEWEST_ROWS = 6
_DECIMALS = 6
_COLUMNS = [int(STATISTICS[name].quantity) for name in TOP_EXAMPLE_STATISTICS]
TopExamples = dict[tuple[int, int, str], tuple[Entry, ...]]
"""The kept segments of one kind of attention: by 0-based (layer, head) and statistic, tuples of (score, document,
segment), the clearest first; nothing if the statistic cannot occur."""


class TopExampleAccumulator(Accumulator):
    """Keep, for each head and statistic, the segments with the highest mean over rows.

    Scores are rounded to 1e-6 and ties broken by document and segment, so that neither order nor batches decide. Memory
    is bounded by the number of heads: the tokens of a segment are kept once, however many heads keep it.

    Args:
        layout: the kinds of attention and their sizes.
        most: number of segments kept for each head and statistic.
        fewest_rows: minimum length: shorter segments do not count, because a mean over two rows is not informative.
    """

    parameters: ClassVar[tuple[str, ...]] = ("most", "fewest_rows")

    def __init__(self, layout: Sequence[KindLayout], *, most: int = MOST_KEPT, fewest_rows: int = FEWEST_ROWS) -> None:
        self.most, self.fewest_rows = most, fewest_rows
        self._rows: dict[str, Tensor] = {}
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep the clearest segments of each head and statistic."""
        self._top_segments = TopSegments(self.layout, statistics=len(_COLUMNS), most=self.most)
        return {"top_examples": self._top_segments}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        # A padding row may hold NaN, and 0 x NaN is NaN: such rows are replaced by 0, not multiplied by it.
        rows = torch.where(tile.row_valid[:, None, :, None], tile.statistics, 0.0)
        self.segment_sums.add(tile, sums=rows.sum(2, dtype=torch.float64))
        self._rows[tile.kind] = tile.queries.on_host.lengths

    def end(self, batch: Batch) -> None:
        """Turn row sums into means, and keep the segments that are among the clearest."""
        for kind, _, (sums,) in self.segment_sums.by_kind("sums"):
            rows = self._rows[kind].numpy()
            scores = (sums[..., _COLUMNS] / rows[:, None, None, None]).round(_DECIMALS)
            # A segment must score above 0; NaN, for a statistic that cannot occur, fails the comparison too.
            good = (
                (scores > 0)
                & (scores >= self._top_segments.least[kind])
                & (rows >= self.fewest_rows)[:, None, None, None]
            )
            for item, layer, head, column in np.argwhere(good).tolist():
                segment = batch.segments[item]
                entry = (-float(scores[item, layer, head, column]), segment.document, segment.index)
                self._top_segments.offer(kind, (layer, head, column), entry, segment)

    def compute(self) -> dict[str, TopExamples]:
        """Return the kept segments of each kind."""
        kept: dict[str, TopExamples] = {}
        for kind, cells in self._top_segments.kept.items():
            kept[kind] = {}
            for (layer, head, column), entries in sorted(cells.items()):
                clearest = tuple((-score, document, segment) for score, document, segment in entries)
                kept[kind][layer, head, TOP_EXAMPLE_STATISTICS[column]] = clearest
        return kept

    @property
    def segments(self) -> Mapping[tuple[str, int], Segment]:
        """The kept segments by document and index: tokens only, neither words nor fields."""
        return self._top_segments.segments
