"""Sums of one stage in a scan by shards: resumed from a killed run, computed, merged in order, kept on disk."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NoReturn

from numpy.typing import NDArray

from headscope.attention.model.loss_source import LossCounts, LossSource
from headscope.attention.model.model_source import TileSource
from headscope.encoding.shards import Shard
from headscope.errors import InputError
from headscope.scans.shard_checkpoint import ShardCheckpoint, Total
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


class StageSums:
    """The sums of one stage, which receive the shards of a scan one after another.

    Several stages may read one scan, and each may have kept other shards.

    Args:
        stage: name of the stage.
        accumulators: accumulators, updated in place; those of a part of a run stay empty.
        checkpoint: checkpoint where sums are kept; None keeps none.

    Attributes:
        part: shards that this run computes if it is one part of several; else None.
        seconds: seconds that the scan spent on this stage, including its share of work that several stages share.
        sums: the accumulators with the counts of the source, after `begin`.
    """

    sums: ShardSums

    def __init__(
        self, stage: str, accumulators: Sequence[Accumulator], checkpoint: ShardCheckpoint | None = None
    ) -> None:
        self.stage, self.accumulators, self.seconds = stage, accumulators, 0.0
        self._checkpoint = checkpoint
        self.part = None if checkpoint is None else checkpoint.part

    def begin(self, source: TileSource, scan_name: str) -> None:
        """Begin a scan, resuming from the sums that a killed run has kept.

        Args:
            source: source of the tiles.
            scan_name: name of the scan within the stage.
        """
        self.sums, self._name = ShardSums.of(source, self.accumulators), scan_name
        self._kept = None if self._checkpoint is None or self.part else self._checkpoint.total(scan_name)
        self._added, self._written = 0, self._kept_shards
        self._inputs = blake2b(digest_size=16)
        if self._kept is not None:
            self.sums.merge(self.sums.read(self._kept.arrays))

    def lacks(self, shard: Shard) -> bool:
        """Return True if the sums of a shard must be computed."""
        if self.part is not None and not self.part.has(shard.number):
            return False
        return shard.number >= self._kept_shards and self._shard(shard) is None

    def add(self, shard: Shard, computed: ShardSums | None) -> None:
        """Merge the sums of the next shard, computed or kept; a part of a run keeps them in a file instead.

        Args:
            shard: next shard.
            computed: its sums; None if the stage did not lack them.

        Raises:
            InputError: the shards are not those of the stopped run.
        """
        checkpoint = self._checkpoint
        if checkpoint is not None and self.part is not None:
            if computed is not None:
                checkpoint.keep_shard(self._name, shard.number, shard.digest, computed.state())
            return
        self._added += 1
        if checkpoint is not None:
            self._inputs.update(shard.digest.encode())
        if self._kept is not None and self._added <= self._kept.shards:
            if self._added == self._kept.shards and self._inputs.hexdigest() != self._kept.inputs:
                _refuse_other_shards(self._kept.shards)
            return
        self.sums.merge(computed if computed is not None else self.sums.read(self._shard(shard)))
        self._keep(last=False)

    def end(self) -> None:
        """End the scan, and keep its sums if they took long.

        Raises:
            InputError: there were fewer shards than the stopped run had read.
        """
        if self._added < self._kept_shards:
            _refuse_other_shards(self._kept_shards)
        self._keep(last=True)

    @property
    def _kept_shards(self) -> int:
        return 0 if self._kept is None else self._kept.shards

    def _shard(self, shard: Shard) -> Any:
        """Return the sums of a shard that this or another part of the run kept; None if none did."""
        checkpoint = self._checkpoint
        return None if checkpoint is None else checkpoint.shard(self._name, shard.number, shard.digest)

    def _keep(self, *, last: bool) -> None:
        if self._checkpoint is not None and self._written < self._added and self._checkpoint.is_due(last=last):
            total = Total(self._added, self._inputs.hexdigest(), self.sums.state())
            self._checkpoint.keep_total(self._name, total)
            self._written = self._added


def _refuse_other_shards(number: int) -> NoReturn:
    """Raise an error because the shards of a stopped run differ from the current ones.

    Args:
        number: number of shards that the stopped run has kept.

    Raises:
        InputError: always; the message says what to do.
    """
    raise InputError(
        f"the first {number:,} shards of the text are not those of the run that was stopped; delete the "
        "folder shards of this run, and run again"
    )
