"""A scan shard by shard: sums made for each by itself and joined in one tree, kept on disk as it goes."""

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from headscope.attention.model.loss_source import LossSource
from headscope.attention.model.model_source import TileSource
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.ahead import ahead
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.models.placement import device_of
from headscope.scans.executor_scan import scan_with_executor
from headscope.scans.scan_progress import ProgressReport, ScanProgress
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.shard_reader import ShardReader
from headscope.scans.shard_sums import ShardSums
from headscope.scans.short_memory import with_fewer_inputs
from headscope.statistics.sums.accumulator import Accumulator


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What another stage sums up in the same scan.

    Attributes:
        accumulators: updated in place.
        checkpoint: where the other stage keeps its shards; None where it keeps none.
    """

    accumulators: Sequence[Accumulator]
    checkpoint: ShardCheckpoint | None = None


def scan_shards(
    source: TileSource,
    accumulators: Sequence[Accumulator],
    *,
    checkpoint: ShardCheckpoint | None = None,
    executor: ShardExecutor | None = None,
    scan_name: str = "trained",
    progress: ProgressReport | None = None,
    beside: Sequence[Beside] = (),
    layout_accumulators: Sequence[TileAccumulator] = (),
) -> list[float]:
    """Feed every tile of a source to every accumulator, as `scan` does, but by shards.

    The same digits come out whether shards are kept, found again, or were computed by an executor. Where the run is one
    part of several only its own shards are computed and kept, and the accumulators stay empty.

    Args:
        source: a model over sharded inputs; any other is scanned as a whole.
        accumulators: updated in place.
        checkpoint: where shards are kept; None keeps none.
        executor: computes the shards in place of this process; needs a checkpoint, and takes no other stage beside.
        scan_name: which scan of its stage it is, in letters, digits and `-`.
        progress: called after each batch, and after each shard that was found.
        beside: other stages that read the same tiles: a shard is computed once for all that lack it.
        layout_accumulators: those that another such scan feeds: tiles and batches are as if they were fed here, too.

    Returns:
        The seconds that were spent for this stage and for each beside it; what they share is parted among them.

    Raises:
        AttentionError: as `scan`.
        MemoryShortError: there is no memory for a single input.
        InputError: the inputs are not those of the run that was stopped.
    """
    if not isinstance(source, SegmentSource) or not isinstance(source.batches, ShardedBatches):
        parts = [accumulators, *(stage.accumulators for stage in beside)]
        every = [each for part in parts for each in part]
        counts = scan(source, every, progress=progress, layout_accumulators=[*every, *layout_accumulators])
        return _parted(counts, [len(part) for part in parts])
    scan_progress = ScanProgress(progress)
    if executor is not None:
        assert checkpoint is not None
        began = time.perf_counter()
        sums = ShardSums.of(source, accumulators)
        scan_with_executor(source.batches.shards(), sums, executor, checkpoint, scan_name, scan_progress)
        return [time.perf_counter() - began]
    stages = [Beside(accumulators=accumulators, checkpoint=checkpoint), *beside]
    readers = [ShardReader(ShardSums.of(source, stage.accumulators), stage.checkpoint, scan_name) for stage in stages]
    # A stage that lacks nothing of a shard changes no digit of those that do.
    every_accumulator = [*layout_accumulators, *(each for reader in readers for each in reader.sums.accumulators)]
    shards = source.batches.shards()
    if device_of(source.model).type != "cpu":
        # The next shard is read and tokenized while an accelerator computes.
        shards = ahead(shards, most=1)
    for shard in shards:
        lacking = [reader for reader in readers if reader.lacks(shard)]
        if not lacking:
            # Another part's is not even made into inputs, where that can be helped.
            if checkpoint is None or checkpoint.part is None:
                scan_progress.skip(shard)
            continue
        computed = _computed(shard, source, [reader.sums for reader in lacking], every_accumulator, scan_progress)
        for reader, sums, seconds in zip(lacking, *computed, strict=True):
            reader.add(shard, sums)
            reader.seconds += seconds
    for reader in readers:
        reader.end()
    return [reader.seconds for reader in readers]


def compute_shard(
    shard: Shard, source: SegmentSource, like: ShardSums, *, layout_accumulators: Sequence[TileAccumulator] = ()
) -> ShardSums:
    """Return what one shard adds up to.

    Args:
        shard: its inputs.
        source: the model that reads them, over sharded inputs of the same run.
        like: sums with the scan's options.
        layout_accumulators: as `scan_shards` takes them.
    """
    sums, _ = _computed(shard, source, [like], [*layout_accumulators, *like.accumulators], ScanProgress(None))
    return sums[0]


def _computed(
    shard: Shard,
    source: SegmentSource,
    like: Sequence[ShardSums],
    layout_accumulators: Sequence[TileAccumulator],
    scan_progress: ScanProgress,
) -> tuple[list[ShardSums], list[float]]:
    """Compute a shard, once more with smaller batches where memory runs out: what was summed of it is dropped.

    Returns:
        The sums of each stage that lacked it, and the seconds spent for each.
    """
    batches = source.batches
    assert isinstance(batches, ShardedBatches)

    def compute() -> tuple[list[ShardSums], list[float]]:
        sums_of_stages, part = [each.empty() for each in like], copy(source)
        part.batches = batches.of(shard)
        if isinstance(part, LossSource):
            (counts,) = (each.counts for each in sums_of_stages)  # what takes a loss reads alone
            assert counts is not None
            part.counts = counts
        counted = scan(
            part,
            [each for sums in sums_of_stages for each in sums.accumulators],
            progress=scan_progress.batch,
            layout_accumulators=layout_accumulators,
        )
        scan_progress.end()
        return sums_of_stages, _parted(counted, [len(sums.accumulators) for sums in sums_of_stages])

    return with_fewer_inputs(compute, batches.limit.halve)


def _parted(counts: ScanCounts, numbers: Sequence[int]) -> list[float]:
    """Part a scan's seconds among stages: to each what its accumulators took, and of the rest the same.

    Args:
        counts: of the scan.
        numbers: how many accumulators each stage has.
    """
    shared = (counts.seconds - sum(counts.spent)) / len(numbers)
    seconds, spent = [], iter(counts.spent)
    for number in numbers:
        seconds.append(shared + sum(next(spent, 0.0) for _ in range(number)))
    return seconds
