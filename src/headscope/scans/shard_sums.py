"""What the shards of a scan add up to, joined in one tree whoever computed them: no digit depends on who did."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from headscope.attention.model.loss_source import LossCounts, LossSource
from headscope.attention.model.model_source import TileSource
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State, within

TOGETHER = 8
"""So many shards are joined, so many of those again, and so on. Sums of floats depend on the order of adding: that of
this tree is part of what a run's numbers are."""

Arrays = Mapping[str, NDArray[Any]]


class ShardSums:
    """What a scan adds up: its accumulators, and what a source of losses counts.

    Args:
        accumulators: each open.
        counts: of a source of losses; None for others.
    """

    def __init__(self, accumulators: Sequence[Accumulator], counts: LossCounts | None) -> None:
        self.accumulators, self.counts = accumulators, counts

    @classmethod
    def of(cls, source: TileSource, accumulators: Sequence[Accumulator]) -> "ShardSums":
        """Return the sums of a scan that begins."""
        for each in accumulators:
            if not each.is_open:
                each.open(source.layout)
        return cls(accumulators, source.counts if isinstance(source, LossSource) else None)

    def empty(self) -> "ShardSums":
        """Return others with the same options, which have seen nothing."""
        copies = [type(each).with_settings(each.layout, each.settings()) for each in self.accumulators]
        return ShardSums(copies, None if self.counts is None else LossCounts())

    def read(self, arrays: Arrays) -> "ShardSums":
        """Return those whose `state` these arrays are."""
        copies = [type(each).from_state(within(arrays, f"{number}.")) for number, each in enumerate(self.accumulators)]
        counts = None
        if self.counts is not None:
            counts = LossCounts()
            counts.restore(within(arrays, "counts."))
        return ShardSums(copies, counts)

    def merge(self, other: "ShardSums") -> None:
        """Add what another found."""
        for each, more in zip(self._stores(), other._stores(), strict=True):
            each.merge(more)

    def state(self) -> State:
        """Return all of it as named arrays."""
        names = [*map(str, range(len(self.accumulators))), "counts"]
        return {
            f"{start}.{name}": array
            for start, each in zip(names, self._stores())
            for name, array in each.state().items()
        }

    def _stores(self) -> list[Any]:
        return [*self.accumulators, *([] if self.counts is None else [self.counts])]


class SumsTree:
    """Joins the sums of shards as they come in their order, 8 by 8; of each level no more than one is held.

    Args:
        total: gets all of it in the end (`join`), and says how sums are made.
        shards: how many were joined already.
    """

    def __init__(self, total: ShardSums, *, shards: int = 0) -> None:
        self.total, self.shards = total, shards
        self._levels: dict[int, ShardSums] = {}

    def add(self, sums: ShardSums, *, level: int = 0) -> None:
        """Take the sums of the next shard, or of the next `TOGETHER ** level` shards, joined as `joined` does.

        Raises:
            ValueError: these are not the next of their level: some of a lower one wait to be joined.
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
        """Add all that came to the total."""
        for _, sums in sorted(self._levels.items(), reverse=True):
            self.total.merge(sums)
        self._levels.clear()

    def state(self) -> State:
        """Return what is held of each level as named arrays."""
        return {
            f"{level}.{name}": array for level, sums in self._levels.items() for name, array in sums.state().items()
        }

    @classmethod
    def read(cls, total: ShardSums, arrays: Arrays, *, shards: int) -> "SumsTree":
        """Return the tree whose `state` these arrays are, after so many shards."""
        tree = cls(total, shards=shards)
        by_level: dict[int, State] = {}
        for name, array in arrays.items():
            level, _, rest = name.partition(".")
            by_level.setdefault(int(level), {})[rest] = array
        tree._levels = {level: total.read(state) for level, state in by_level.items()}
        return tree


def joined(like: ShardSums, states: Sequence[Arrays]) -> State:
    """Join the states of shards that follow one another, in their order; return the state of them all."""
    first, *others = map(like.read, states)
    for other in others:
        first.merge(other)
    return first.state()
