"""A scan shard by shard: sums made for each by itself and joined in one tree, kept on disk as it goes."""

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

from headscope.attention.gradients import GradientSource
from headscope.attention.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.prepare.kept_shards import KeptShards
from headscope.prepare.shard_reader import ShardReader
from headscope.prepare.shard_sums import ShardSums
from headscope.statistics.accumulator import Accumulator

Telling = Callable[[ScanCounts], None]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What another stage sums up in the same scan.

    Attributes:
        accumulators: updated in place.
        kept: where the other stage keeps its shards; None where it keeps none.
    """

    accumulators: Sequence[Accumulator]
    kept: KeptShards | None = None


def scan_shards(
    source: TileSource,
    accumulators: Sequence[Accumulator],
    *,
    kept: KeptShards | None = None,
    scan_name: str = "trained",
    progress: Telling | None = None,
    beside: Sequence[Beside] = (),
    alike: Sequence[TileAccumulator] = (),
) -> list[float]:
    """Feed every tile of a source to every accumulator, as `scan` does, but by shards.

    The same digits come out whether shards are kept, found again, or were computed elsewhere. Where the run is one part
    of several only its own shards are computed and kept, and the accumulators stay empty.

    Args:
        source: a model over sharded inputs; any other is scanned as a whole.
        accumulators: updated in place.
        kept: where shards are kept; None keeps none.
        scan_name: which scan of its stage it is, in letters, digits and `-`.
        progress: called after each batch, and after each shard that was found.
        beside: other stages that read the same tiles: a shard is computed once for all that lack it.
        alike: accumulators that get nothing; tiles and batches are as if they did, as they may in another such scan.

    Returns:
        The seconds that were spent for this stage and for each beside it; what they share is parted among them.

    Raises:
        AttentionError: as `scan`.
        InputError: the inputs are not those of the run that was stopped.
    """
    stages = [Beside(accumulators=accumulators, kept=kept), *beside]
    if not isinstance(source, ModelSource | GradientSource) or not isinstance(source.batches, ShardedBatches):
        every = [each for stage in stages for each in stage.accumulators]
        counts = scan(source, every, progress=progress, heeded=[*every, *alike])
        return _parted(counts, [len(stage.accumulators) for stage in stages])
    readers = [
        ShardReader(ShardSums.of(source, stage.accumulators), stage.kept, scan_name) for stage in stages
    ]
    # A stage that lacks nothing of a shard changes no digit of those that do.
    heeded = [*alike, *(each for reader in readers for each in reader.sums.accumulators)]
    told = _Told(progress)
    for shard in source.batches.shards():
        lacking = [reader for reader in readers if reader.lacks(shard)]
        if not lacking:
            told.skipped(shard)
            continue
        made = _computed(shard, source, [reader.sums for reader in lacking], heeded, told)
        for reader, sums in zip(lacking, made.sums, strict=True):
            reader.add(shard, sums)
        for reader, seconds in zip(lacking, made.seconds, strict=True):
            reader.seconds += seconds
    for reader in readers:
        reader.end()
    return [reader.seconds for reader in readers]


class _Told:
    """Counts of the whole scan for whoever listens, made of those of its shards."""

    def __init__(self, progress: Telling | None) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.before = self.now = ScanCounts(0, 0, 0.0)

    def batch(self, counts: ScanCounts) -> None:
        """Tell of a batch of the shard at hand."""
        self.now = ScanCounts(
            self.before.segments + counts.segments,
            self.before.tokens + counts.tokens,
            time.perf_counter() - self.began,
            max(self.before.held_bytes, counts.held_bytes),
        )
        if self.progress is not None:
            self.progress(self.now)

    def end(self) -> None:
        """Begin with the next shard."""
        self.before = self.now

    def skipped(self, shard: Shard) -> None:
        """Tell of a shard that need not be computed."""
        tokens = sum(map(len, shard.segments))
        self.batch(ScanCounts(len(shard.segments), tokens, 0.0))
        self.end()


@dataclass(frozen=True)
class _Made:
    """What was computed of a shard, for each stage that lacked it: sums, and seconds."""

    sums: list[ShardSums]
    seconds: list[float]


def _computed(
    shard: Shard,
    source: ModelSource | GradientSource,
    like: Sequence[ShardSums],
    heeded: Sequence[TileAccumulator],
    told: _Told,
) -> _Made:
    made, part = [each.empty() for each in like], copy(source)
    assert isinstance(source.batches, ShardedBatches)
    part.batches = source.batches.of(shard)
    if isinstance(part, GradientSource):
        (counts,) = (each.counts for each in made)  # importance reads alone
        assert counts is not None
        part.counts = counts
    counted = scan(
        part, [each for sums in made for each in sums.accumulators], progress=told.batch, heeded=heeded
    )
    told.end()
    return _Made(made, _parted(counted, [len(sums.accumulators) for sums in made]))


def _parted(counts: ScanCounts, numbers: Sequence[int]) -> list[float]:
    """Part a scan's seconds among stages: to each what its accumulators took, and of the rest the same.

    Args:
        counts: of the scan.
        numbers: how many accumulators each stage has.
    """
    shared = (counts.seconds - sum(counts.spent)) / len(numbers)
    own, spent = [], iter(counts.spent)
    for number in numbers:
        own.append(shared + sum(next(spent, 0.0) for _ in range(number)))
    return own
