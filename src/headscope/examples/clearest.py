"""The segments on which each head does its thing most clearly, found during the scan."""

import json
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.row_statistics import ROW_STATISTICS
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator, State, layout_state, read_layout

# Those that a role rests on, and what a head of no role is shown by.
CLEAREST_STATISTICS = ("previous", "next", "cls", "sep", "punctuation", "entropy", "max_weight")
MOST_KEPT = 3
FEWEST_ROWS = 6
_DECIMALS = 6
_COLUMNS = [ROW_STATISTICS.index(name) for name in CLEAREST_STATISTICS]

Entry = tuple[float, str, int]
"""A kept segment: minus its score, its document, its index; in this order the clearest comes first."""


@dataclass(frozen=True)
class ClearestResult:
    """What was kept of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        kept: by 0-based (layer, head) and statistic, (score, document, segment), the clearest first; nothing where the
            statistic cannot occur.
    """

    kind: str
    kept: Mapping[tuple[int, int, str], tuple[Entry, ...]]


class ClearestAccumulator(Accumulator):
    """Keep, for each head and statistic, the segments whose mean over rows is highest.

    Scores are rounded to 1e-6, equal ones go by document and segment, so that neither order nor batches decide. Memory
    is bounded by the number of heads: of a segment its tokens are kept, once, however many heads it is clear for.

    Args:
        layout: the kinds of attention and their sizes.
        most: segments kept for each head and statistic.
        fewest_rows: shorter segments do not count: a mean over two rows says little.
    """

    def __init__(
        self, layout: Sequence[KindLayout], *, most: int = MOST_KEPT, fewest_rows: int = FEWEST_ROWS
    ) -> None:
        self.layout = tuple(layout)
        self.most, self.fewest_rows = most, fewest_rows
        self._kept: dict[str, dict[tuple[int, int, int], list[Entry]]] = {p.kind: {} for p in self.layout}
        # What a score must reach to be kept: that of the last, once there are enough.
        self._least = {
            part.kind: np.full((part.layers, part.heads, len(_COLUMNS)), -np.inf) for part in self.layout
        }
        self._segments: dict[tuple[str, int], Segment] = {}
        self._uses: Counter[tuple[str, int]] = Counter()
        self._open: dict[str, list[Tensor | None]] = {}
        self._rows: dict[str, Tensor] = {}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._open = {part.kind: [None] * part.layers for part in self.layout}
        self._rows = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        # A padding row may hold NaN, and 0 x NaN is NaN: such rows are emptied, not multiplied away.
        rows = torch.where(tile.row_valid[:, None, :, None], tile.statistics, 0.0)
        sums = rows.sum(2, dtype=torch.float64)
        before = self._open[tile.kind][tile.layer]
        self._open[tile.kind][tile.layer] = sums if before is None else before + sums
        self._rows.setdefault(tile.kind, tile.queries.lengths)

    def end(self, batch: Batch) -> None:
        """Turn row sums into means, and keep the segments that are among the clearest."""
        for kind, layers in self._open.items():
            if kind not in self._rows:
                continue
            rows = self._rows[kind].cpu().numpy()
            table = torch.stack([layer for layer in layers if layer is not None], dim=1)[..., _COLUMNS]
            scores = (table.cpu().numpy() / rows[:, None, None, None]).round(_DECIMALS)
            # Nothing is clear where a head never does it; NaN, what cannot occur, fails the comparison too.
            good = (
                (scores > 0) & (scores >= self._least[kind]) & (rows >= self.fewest_rows)[:, None, None, None]
            )
            for item, layer, head, column in np.argwhere(good).tolist():
                segment = batch.segments[item]
                entry = (-float(scores[item, layer, head, column]), segment.document, segment.index)
                self._offer(kind, (layer, head, column), entry, segment)
        self._open = {}

    def _offer(self, kind: str, place: tuple[int, int, int], entry: Entry, segment: Segment) -> None:
        kept = self._kept[kind].setdefault(place, [])
        if len(kept) == self.most and entry >= kept[-1]:
            return
        insort(kept, entry)
        key = entry[1:]
        self._uses[key] += 1
        if key not in self._segments:
            self._segments[key] = _tokens_of(segment)
        if len(kept) > self.most:
            gone = kept.pop()[1:]
            self._uses[gone] -= 1
            if not self._uses[gone]:
                del self._uses[gone], self._segments[gone]
        if len(kept) == self.most:
            self._least[kind][place] = -kept[-1][0]

    def merge(self, other: "ClearestAccumulator") -> None:
        """Add what another kept.

        Raises:
            ValueError: it watched a model of another shape, or kept by other rules.
        """
        own = (self.layout, self.most, self.fewest_rows)
        came = (other.layout, other.most, other.fewest_rows)
        if came != own:
            raise ValueError(f"expected segments kept over {own}, came {came}; merge scans of one model only")
        for kind, places in other._kept.items():
            for place, entries in places.items():
                for entry in entries:
                    self._offer(kind, place, entry, other._segments[entry[1:]])

    def compute(self) -> tuple[ClearestResult, ...]:
        """Return what is kept of each kind."""
        return tuple(
            ClearestResult(
                kind,
                {
                    (layer, head, CLEAREST_STATISTICS[column]): tuple(
                        (-score, document, segment) for score, document, segment in entries
                    )
                    for (layer, head, column), entries in sorted(places.items())
                },
            )
            for kind, places in self._kept.items()
        )

    @property
    def segments(self) -> Mapping[tuple[str, int], Segment]:
        """The kept segments by document and index: tokens only, neither words nor fields."""
        return self._segments

    def state(self) -> State:
        """Return the kept segments, and for each statistic of a head its scores and the segments' numbers."""
        keys = sorted(self._segments)
        number = {key: place for place, key in enumerate(keys)}
        segments = [self._segments[key] for key in keys]
        state: State = {
            "ClearestAccumulator.version": np.array(self.version),
            **layout_state(self.layout),
            "clearest.rules": np.array([self.most, self.fewest_rows]),
            "clearest.keys": np.frombuffer(json.dumps(keys).encode(), dtype=np.uint8).copy(),
            "clearest.lengths": np.array([len(segment) for segment in segments], dtype=np.int64),
        }
        for name in _FIELDS:
            parts = [getattr(segment, name) for segment in segments]
            state[f"clearest.{name}"] = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        for kind, places in self._kept.items():
            flat = [(*place, number[e[1:]], -e[0]) for place, kept in sorted(places.items()) for e in kept]
            state[f"clearest.places.{kind}"] = np.array([f[:4] for f in flat], dtype=np.int64).reshape(-1, 4)
            state[f"clearest.scores.{kind}"] = np.array([f[4] for f in flat], dtype=np.float64)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> "ClearestAccumulator":
        """Rebuild from `state()`; see `Accumulator.from_state`."""
        cls.check_version(state)
        most, fewest_rows = (int(number) for number in state["clearest.rules"])
        made = cls(read_layout(state), most=most, fewest_rows=fewest_rows)
        ends = np.cumsum(state["clearest.lengths"])[:-1]
        columns = [np.split(state[f"clearest.{name}"], ends) for name in _FIELDS]
        keys = json.loads(bytes(state["clearest.keys"]))
        segments = [
            Segment(document=document, index=index, **dict(zip(_FIELDS, arrays, strict=True)))
            for (document, index), *arrays in zip(keys, *columns)
        ]
        for part in made.layout:
            places = state[f"clearest.places.{part.kind}"].tolist()
            for (*place, number), score in zip(places, state[f"clearest.scores.{part.kind}"].tolist()):
                segment = segments[number]
                entry = (-score, segment.document, segment.index)
                made._offer(part.kind, (place[0], place[1], place[2]), entry, segment)
        return made


_FIELDS = ("ids", "token_types", "word_ids")


def _tokens_of(segment: Segment) -> Segment:
    """Return a segment without what only its corpus knew."""
    return Segment(
        document=segment.document,
        index=segment.index,
        **{name: getattr(segment, name).astype(np.int64) for name in _FIELDS},
    )
