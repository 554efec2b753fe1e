"""Memory that runs out in a pass: it is begun again with half of the batch, with nothing kept of what was summed."""

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import TypeVar

from headscope.attention.model.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.shards import ShardedBatches
from headscope.errors import MemoryShortError
from headscope.scans.scan_progress import ScanProgress

Collector = TypeVar("Collector", bound=TileAccumulator)
Result = TypeVar("Result")


def halve_batches(source: TileSource, error: MemoryShortError) -> None:
    """Have a source compute half as many inputs together as when memory ran out.

    Raises:
        MemoryShortError: it was a single input, or the source does not choose how many there are.
    """
    batches = getattr(source, "batches", None)
    if not isinstance(batches, ShardedBatches):
        raise error
    batches.limit.halve(error)


def with_fewer_inputs(compute: Callable[[], Result], halve: Callable[[MemoryShortError], object]) -> Result:
    """Return what is computed, begun again with half as many inputs together each time that memory runs out.

    Args:
        compute: keeps nothing of an attempt before.
        halve: has half as many computed together, as `BatchLimit.halve`.

    Raises:
        MemoryShortError: there is no memory for a single input.
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
    """Feed all tiles of a source to a collector, which is returned filled; from the start where memory runs out.

    Args:
        open_source: returns the tiles from the start; the model's limit of inputs is shared by all that it returns.
        make: returns an empty collector.
        progress: called after each batch.

    Raises:
        MemoryShortError: there is no memory for a single input.
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
    """Feed every tile of a source to accumulators that may keep what they do not declare.

    What they hold is copied before each shard, and given back to them where memory runs out in it.

    Args:
        source: over sharded inputs.
        accumulators: updated in place.
        progress: called after each batch.

    Raises:
        MemoryShortError: there is no memory for a single input.
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
