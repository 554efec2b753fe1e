"""One pass over a source of tiles, many accumulators."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from headscope.attention.host_copy import HostCopy
from headscope.attention.model.model_source import TileSource
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.row_checks import FiniteChecks
from headscope.attention.row_statistics import Visibility
from headscope.attention.tile import AttentionTile, join_rows
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.models.anatomy import KindLayout

# Maximum bytes that accumulators over stacks keep at once; a single segment may exceed it.
STACK_LIMIT = 1 << 30


@runtime_checkable
class TileAccumulator(Protocol):
    """The part of an accumulator that a scan uses (`statistics.accumulator.Accumulator` implements all of it)."""

    @property
    def needs(self) -> frozenset[str]:
        """The parts of a tile that it reads: `weights`, row `statistics`, `written`, the heads' `vectors`."""

    @property
    def span(self) -> str:
        """The rows that must be complete: some `rows`, a whole `layer` of its segments, or the `stack` of all layers.

        An accumulator over a stack receives rows, and keeps those that it needs until the batch ends.
        """

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Process one tile."""

    def end(self, batch: Batch) -> None:
        """Close the batch."""


@runtime_checkable
class HandingOver(Protocol):
    """An accumulator whose sums stay on the device until the batch ends."""

    def hand_over(self, copy: HostCopy) -> None:
        """Add the tensors that `end` needs on the host: those of all accumulators are copied together."""


@runtime_checkable
class StackAccumulator(TileAccumulator, Protocol):
    """An accumulator whose span is `stack`. It reports its memory, so that the scan can limit the size of batches."""

    @property
    def held_bytes(self) -> int:
        """Number of bytes of the batch's weights that are in memory now."""

    def bytes_of(self, tokens: int) -> int:
        """Return the approximate number of bytes that it keeps of a segment with `tokens` tokens."""


@runtime_checkable
class UnopenedAccumulator(TileAccumulator, Protocol):
    """An accumulator that can be created before the model is known: the scan passes it the sizes of the model."""

    @property
    def is_open(self) -> bool:
        """Whether the sizes are known."""

    def open(self, layout: Sequence[KindLayout]) -> None:
        """Set the sizes of the model."""


@dataclass(frozen=True)
class ScanCounts:
    """The progress of a scan.

    Attributes:
        segments: segments done.
        tokens: tokens in them.
        seconds: time since the scan began.
        held_bytes: the largest number of bytes that accumulators over stacks of layers kept at once.
        spent: the seconds spent in each accumulator; the rest is the model's.
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
        accumulators: accumulators to update in place; call `compute()` of each afterwards.
        progress: called after each batch.
        layout_accumulators: accumulators whose needs decide the contents of tiles and the size of batches, so that no
            digit depends on which of several accumulators are fed; `accumulators` if None.

    Raises:
        AttentionError: a weight is NaN or infinite; names layer, head and document.
    """
    layout_accumulators = accumulators if layout_accumulators is None else layout_accumulators
    for each in [*accumulators, *layout_accumulators]:
        if isinstance(each, UnopenedAccumulator) and not each.is_open:
            each.open(source.layout)
    consumer = _Feed(accumulators, progress)
    stacks = [each for each in layout_accumulators if isinstance(each, StackAccumulator)]
    if stacks and isinstance(source, SegmentSource):
        source, batches = copy(source), source.batches
        source.batches = _small_enough(batches, stacks)
    needs = frozenset().union(*(each.needs for each in layout_accumulators))
    source.run(consumer, needs)
    return consumer.counts


class _Feed:
    """Check that tiles are attention, and pass them to the accumulators."""

    def __init__(self, accumulators: Sequence[TileAccumulator], progress: Callable[[ScanCounts], None] | None) -> None:
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
        for index, accumulator in accumulators:
            self._call(index, accumulator.update, tile)

    def _call(self, index: int, step: Callable[[Any], object], argument: Any) -> None:
        """Call a method of an accumulator, and add up the seconds that it takes."""
        began = time.perf_counter()
        step(argument)
        self.spent[index] += time.perf_counter() - began

    def _whole(self, tile: AttentionTile) -> AttentionTile | None:
        """Collect the tiles of a layer until all its rows are present; at most one layer is in memory."""
        self.waiting.append(tile)
        if tile.rows.stop < tile.queries.valid.shape[1]:
            return None
        layer = join_rows(self.waiting, known_visibility=self.joined)
        self.waiting = []
        return layer

    def end(self, batch: Batch) -> None:
        self.joined = {}
        held_bytes = sum(accumulator.held_bytes for accumulator in self.by_stack)
        copy = HostCopy()
        self.checks.hand_over(copy)
        for index, accumulator in enumerate(self.accumulators):
            if isinstance(accumulator, HandingOver):
                self._call(index, accumulator.hand_over, copy)
        copy.fetch()
        self.checks.look()
        for index, accumulator in enumerate(self.accumulators):
            self._call(index, accumulator.end, batch)
        self.counts = ScanCounts(
            self.counts.segments + len(batch.segments),
            self.counts.tokens + sum(map(len, batch.segments)),
            time.perf_counter() - self.began,
            max(held_bytes, self.counts.held_bytes),
            tuple(self.spent),
        )
        if self.progress is not None:
            self.progress(self.counts)


def _small_enough(batches: Iterable[list[Segment]], stacks: Sequence[StackAccumulator]) -> Iterator[list[Segment]]:
    """Cut batches that would exceed the memory limit; no result depends on how segments are batched."""
    for batch in batches:
        part: list[Segment] = []
        for segment in batch:
            longest = max(map(len, [*part, segment]))
            if part and (len(part) + 1) * sum(each.bytes_of(longest) for each in stacks) > STACK_LIMIT:
                yield part
                part = []
            part.append(segment)
        yield part
