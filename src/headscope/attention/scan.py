"""One pass over a source of tiles, many accumulators."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headscope.attention.finite import FiniteChecks
from headscope.attention.model_source import ModelSource, TileSource
from headscope.attention.tile import AttentionTile, join_rows
from headscope.attention.visibility import Visibility
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout

# Accumulators over stacks hold at most about so many bytes at once, or one segment's.
STACK_LIMIT = 1 << 30


@runtime_checkable
class TileAccumulator(Protocol):
    """What a scan needs to know of an accumulator (`statistics.accumulator.Accumulator` is the whole of it)."""

    @property
    def needs(self) -> frozenset[str]:
        """What it reads of a tile: `weights`, row `statistics`, what is `written`, the heads' `vectors`."""

    @property
    def span(self) -> str:
        """What must come together: some `rows`, the whole `layer` of its segments, or the `stack` of all layers.

        The last is given rows too, and holds those that it wants until the batch ends.
        """

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Take one tile."""

    def end(self, batch: Batch) -> None:
        """Close the batch."""


@runtime_checkable
class StackAccumulator(TileAccumulator, Protocol):
    """An accumulator whose span is `stack`: it says what it holds, so that the scan keeps batches small enough."""

    @property
    def held_bytes(self) -> int:
        """Bytes of the batch's weights that it holds now."""

    def bytes_of(self, tokens: int) -> int:
        """Return about how many bytes of a segment of so many tokens it holds."""


@runtime_checkable
class UnopenedAccumulator(TileAccumulator, Protocol):
    """An accumulator that may have been made before the model was known: the scan tells it the model's sizes."""

    @property
    def is_open(self) -> bool:
        """Whether it knows them."""

    def open(self, layout: Sequence[KindLayout]) -> None:
        """Take them."""


@dataclass(frozen=True)
class ScanCounts:
    """What a scan went through so far, for progress.

    Attributes:
        segments: segments done.
        tokens: tokens in them.
        seconds: time since the scan began.
        held_bytes: the most that accumulators over stacks of layers held at once.
        spent: of these seconds, those in each accumulator; what is left is the model's.
    """

    segments: int
    tokens: int
    seconds: float
    held_bytes: int = 0
    spent: tuple[float, ...] = ()


def scan(
    source: TileSource,
    accumulators: Sequence[TileAccumulator],
    *,
    progress: Callable[[ScanCounts], None] | None = None,
    layout_accumulators: Sequence[TileAccumulator] | None = None,
) -> ScanCounts:
    """Feed every tile of a source to every accumulator.

    Args:
        source: a model over segments, or saved maps.
        accumulators: updated in place; ask each for `compute()` afterwards.
        progress: called after each batch.
        layout_accumulators: whose needs decide what tiles hold and how large batches are, so that no digit depends on
            who of several is fed; the accumulators' own when None.

    Raises:
        AttentionError: a weight is NaN or infinite; names layer, head and document.
    """
    layout_accumulators = accumulators if layout_accumulators is None else layout_accumulators
    for each in [*accumulators, *layout_accumulators]:
        if isinstance(each, UnopenedAccumulator) and not each.is_open:
            each.open(source.layout)
    consumer = _Feed(accumulators, progress)
    stacks = [each for each in layout_accumulators if isinstance(each, StackAccumulator)]
    if stacks and isinstance(source, ModelSource):
        source, batches = copy(source), source.batches
        source.batches = _small_enough(batches, stacks)
    needs = frozenset().union(*(each.needs for each in layout_accumulators))
    # Nobody is asked for what only some sources know of, unless it is wanted.
    more = {f"need_{name}": True for name in ("written", "vectors") if name in needs}
    source.run(consumer, need_weights="weights" in needs, need_statistics="statistics" in needs, **more)
    return consumer.counts


class _Feed:
    """Hand tiles on to accumulators, having checked that they are attention."""

    def __init__(
        self, accumulators: Sequence[TileAccumulator], progress: Callable[[ScanCounts], None] | None
    ) -> None:
        numbered = list(enumerate(accumulators))
        self.by_rows = [pair for pair in numbered if pair[1].span in ("rows", "stack")]
        self.by_stack = [each for each in accumulators if isinstance(each, StackAccumulator)]
        self.by_layer = [pair for pair in numbered if pair[1].span == "layer"]
        self.accumulators = accumulators
        self.spent = [0.0] * len(accumulators)
        self.progress = progress
        self.waiting: list[AttentionTile] = []
        self.joined: dict[tuple[int, ...], Visibility] = {}
        self.checks = FiniteChecks()
        self.began = time.perf_counter()
        self.counts = ScanCounts(0, 0, 0.0)

    def begin(self, batch: Batch) -> None:
        for accumulator in self.accumulators:
            accumulator.begin(batch)

    def update(self, tile: AttentionTile) -> None:
        self.checks.add(tile)
        self._feed(self.by_rows, tile)
        if self.by_layer and (layer := self._whole(tile)) is not None:
            self._feed(self.by_layer, layer)

    def _feed(self, accumulators: Sequence[tuple[int, TileAccumulator]], tile: AttentionTile) -> None:
        for place, accumulator in accumulators:
            began = time.perf_counter()
            accumulator.update(tile)
            self.spent[place] += time.perf_counter() - began

    def _whole(self, tile: AttentionTile) -> AttentionTile | None:
        """Hold the tiles of a layer until all its rows are there; one layer at most is held."""
        self.waiting.append(tile)
        if tile.rows.stop < tile.queries.valid.shape[1]:
            return None
        layer = join_rows(self.waiting, seen=self.joined)
        self.waiting = []
        return layer

    def end(self, batch: Batch) -> None:
        self.checks.look()
        self.joined = {}
        held = sum(accumulator.held_bytes for accumulator in self.by_stack)
        for place, accumulator in enumerate(self.accumulators):
            began = time.perf_counter()
            accumulator.end(batch)
            self.spent[place] += time.perf_counter() - began
        self.counts = ScanCounts(
            self.counts.segments + len(batch.segments),
            self.counts.tokens + sum(map(len, batch.segments)),
            time.perf_counter() - self.began,
            max(held, self.counts.held_bytes),
            tuple(self.spent),
        )
        if self.progress is not None:
            self.progress(self.counts)


def _small_enough(
    batches: Iterable[list[Segment]], stacks: Sequence[StackAccumulator]
) -> Iterator[list[Segment]]:
    """Cut batches of which too much would have to be held; no answer depends on how segments are batched."""
    for batch in batches:
        part: list[Segment] = []
        for segment in batch:
            longest = max(map(len, [*part, segment]))
            if part and (len(part) + 1) * sum(each.bytes_of(longest) for each in stacks) > STACK_LIMIT:
                yield part
                part = []
            part.append(segment)
        yield part
