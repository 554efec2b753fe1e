"""Sums of a scan's shards, joined in one fixed tree, so that no digit depends on which process computed them."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from headscope.attention.model.loss_source import LossCounts, LossSource
from headscope.attention.model.model_source import TileSource
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State, within

TOGETHER = 8
"""Number of sums that each level of the tree joins. Sums of floats depend on the order of adding, so this tree is part
of the definition of a run's numbers."""

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


class SumsTree:
    """Join the sums of shards in their order, 8 by 8; at most one sum per level is held.

    Args:
        total: sums that receive the total at the end (`join`); they also define how sums are made.
        shards: number of shards that were joined before.
    """

    def __init__(self, total: ShardSums, *, shards: int = 0) -> None:
        self.total, self.shards = total, shards
        self._levels: dict[int, ShardSums] = {}

    def add(self, sums: ShardSums, *, level: int = 0) -> None:
        """Add the sums of the next shard, or of the next `TOGETHER ** level` shards, joined as in `joined`.

        Raises:
            ValueError: the sums do not follow a whole node of their level, because some of a lower level are unjoined.
        """
        if self.shards % TOGETHER**level:
            raise ValueError(f"expected level {level} to begin behind a whole node, found {self.shards} shards")
        self.shards += TOGETHER**level
        while True:
            waiting = self._levels.setdefault(level, sums)
            if waiting is not sums:
                waiting.merge(sums)
            level += 1
            if self.shards % TOGETHER**level:
                return
            sums = self._levels.pop(level - 1)

    def join(self) -> None:
        """Add everything held to the total."""
        for _, sums in sorted(self._levels.items(), reverse=True):
            self.total.merge(sums)
        self._levels.clear()

    def state(self) -> State:
        """Return the sums held at each level as named arrays."""
        return {
            f"{level}.{name}": array for level, sums in self._levels.items() for name, array in sums.state().items()
        }

    @classmethod
    def read(cls, total: ShardSums, arrays: Arrays, *, shards: int) -> "SumsTree":
        """Return the tree whose `state` these arrays are, after `shards` shards."""
        tree = cls(total, shards=shards)
        by_level: dict[int, State] = {}
        for name, array in arrays.items():
            level, _, rest = name.partition(".")
            by_level.setdefault(int(level), {})[rest] = array
        tree._levels = {level: total.read(state) for level, state in by_level.items()}
        return tree


def joined(like: ShardSums, states: Sequence[Arrays]) -> State:
    """Join the states of consecutive shards in order; return the state of their sum."""
    first, *others = map(like.read, states)
    for other in others:
        first.merge(other)
    return first.state()
