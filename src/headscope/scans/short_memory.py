"""Passes that start again with half the batch size when memory runs out, dropping their partial sums."""

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import TypeVar

from headscope.attention.model.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.shards import ShardedBatches
from headscope.errors import MemoryShortError
from headscope.scans.progress import ScanProgress

Collector = TypeVar("Collector", bound=TileAccumulator)
Result = TypeVar("Result")


def halve_batches(source: TileSource, error: MemoryShortError) -> None:
    """Make a source compute half as many inputs at once as when memory ran out.

    Raises:
        MemoryShortError: there was only one input, or the source does not choose the batch size.
    """
    batches = getattr(source, "batches", None)
    if not isinstance(batches, ShardedBatches):
        raise error
    batches.limit.halve(error)


def with_fewer_inputs(compute: Callable[[], Result], halve: Callable[[MemoryShortError], object]) -> Result:
    """Return the result of `compute`, restarted with half as many inputs at once each time that memory runs out.

    Args:
        compute: function that keeps nothing of an earlier attempt.
        halve: function that halves the number of inputs computed at once, such as `BatchLimit.halve`.

    Raises:
        MemoryShortError: memory does not suffice for a single input.
    """
    while True:
        try:
            return compute()
        except MemoryShortError as error:
            halve(error)


def collect(
    open_source: Callable[[], TileSource],
    make: Callable[[], Collector],
    *,
    progress: Callable[[ScanCounts], None] | None = None,
) -> Collector:
    """Feed all tiles of a source to a new collector and return it; start again if memory runs out.

    Args:
        open_source: function that returns the tiles from the start; all its results share the model's batch limit.
        make: function that returns an empty collector.
        progress: function that is called after each batch.

    Raises:
        MemoryShortError: memory does not suffice for a single input.
    """
    while True:
        source, collector = open_source(), make()
        try:
            scan(source, [collector], progress=progress)
        except MemoryShortError as error:
            halve_batches(source, error)
        else:
            return collector


def scan_in_place(
    source: ModelSource,
    accumulators: Sequence[TileAccumulator],
    *,
    progress: Callable[[ScanCounts], None] | None = None,
) -> None:
    """Feed every tile of a source to accumulators whose state may include undeclared attributes.

    Their attributes are copied before each shard, and restored if memory runs out within it.

    Args:
        source: model source over sharded inputs.
        accumulators: accumulators, updated in place.
        progress: function that is called after each batch.

    Raises:
        MemoryShortError: memory does not suffice for a single input.
    """
    assert isinstance(source.batches, ShardedBatches)
    scan_progress = ScanProgress(progress)
    for shard in source.batches.shards():
        while True:
            part, before = copy(source), deepcopy([vars(each) for each in accumulators])
            part.batches = source.batches.of(shard)
            try:
                scan(part, accumulators, progress=scan_progress.batch)
                break
            except MemoryShortError as error:
                source.batches.limit.halve(error)
            for each, held_before in zip(accumulators, before, strict=True):
                vars(each).clear()
                vars(each).update(held_before)
        scan_progress.end()
