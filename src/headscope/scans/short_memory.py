"""Memory that runs out in a pass: it is begun again with half of the batch, with nothing kept of what was summed."""

from collections.abc import Callable
from typing import TypeVar

from headscope.attention.model.model_source import TileSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.shards import ShardedBatches
from headscope.errors import MemoryShortError

Collector = TypeVar("Collector", bound=TileAccumulator)


def halve_batches(source: TileSource, error: MemoryShortError) -> None:
    """Have a source compute half as many inputs together as when memory ran out.

    Raises:
        MemoryShortError: it was a single input, or the source does not choose how many there are.
    """
    batches = getattr(source, "batches", None)
    if not isinstance(batches, ShardedBatches):
        raise error
    batches.limit.halve(error)


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
