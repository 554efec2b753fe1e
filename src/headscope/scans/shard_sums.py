"""The sums of a scan's shards: made for each shard by itself, and merged in the order of the shards."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from headscope.attention.model.loss_source import LossCounts, LossSource
from headscope.attention.model.model_source import TileSource
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State, within

Arrays = Mapping[str, NDArray[Any]]


class ShardSums:
    """The sums of a scan: its accumulators, and the counts of a source of losses.

    Args:
        accumulators: open accumulators.
        counts: counts of a source of losses; None for other sources.
    """

    def __init__(self, accumulators: Sequence[Accumulator], counts: LossCounts | None) -> None:
        self.accumulators, self.counts = accumulators, counts

    @classmethod
    def of(cls, source: TileSource, accumulators: Sequence[Accumulator]) -> "ShardSums":
        """Return the sums for a new scan."""
        for each in accumulators:
            if not each.is_open:
                each.open(source.layout)
        return cls(accumulators, source.counts if isinstance(source, LossSource) else None)

    def empty(self) -> "ShardSums":
        """Return empty sums with the same options."""
        copies = [type(each).with_settings(each.layout, each.settings()) for each in self.accumulators]
        return ShardSums(copies, None if self.counts is None else LossCounts())

    def read(self, arrays: Arrays) -> "ShardSums":
        """Return the sums whose `state` these arrays are."""
        copies = [type(each).from_state(within(arrays, f"{number}.")) for number, each in enumerate(self.accumulators)]
        counts = None
        if self.counts is not None:
            counts = LossCounts()
            counts.restore(within(arrays, "counts."))
        return ShardSums(copies, counts)

    def merge(self, other: "ShardSums") -> None:
        """Add the sums of another scan or shard."""
        for each, more in zip(self._stores(), other._stores(), strict=True):
            each.merge(more)

    def state(self) -> State:
        """Return all sums as named arrays."""
        names = [*map(str, range(len(self.accumulators))), "counts"]
        return {
            f"{start}.{name}": array
            for start, each in zip(names, self._stores())
            for name, array in each.state().items()
        }

    def _stores(self) -> list[Any]:
        return [*self.accumulators, *([] if self.counts is None else [self.counts])]
