"""A scan shard by shard: each shard is summed separately, the sums are joined in one tree and kept on disk."""

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
    """The sums of another stage in the same scan.

    Attributes:
        accumulators: accumulators, updated in place.
        checkpoint: checkpoint where the other stage keeps its shards; None if it keeps none.
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
    """Feed every tile of a source to every accumulator, like `scan`, but shard by shard.

    The result is identical to the last digit whether shards are kept, read back, or computed by an executor. If the run
    is one part of several, only its own shards are computed and kept, and the accumulators stay empty.

    Args:
        source: model over sharded inputs; any other source is scanned as a whole.
        accumulators: accumulators, updated in place.
        checkpoint: checkpoint where shards are kept; None keeps none.
        executor: executor that computes the shards in place of this process; needs a checkpoint and excludes `beside`.
        scan_name: name of the scan within its stage, in letters, digits and `-`.
        progress: function that is called after each batch, and after each shard that was read back.
        beside: other stages that read the same tiles: a shard is computed once for all that lack it.
        layout_accumulators: accumulators of another such scan: tiles and batches are as if these were fed here, too.

    Returns:
        The seconds spent on this stage and on each stage of `beside`; shared time is divided equally.

    Raises:
        AttentionError: as `scan`.
        MemoryShortError: memory does not suffice for a single input.
        InputError: the inputs are not those of the stopped run.
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
    # Stages that already have a shard do not change any digit of those that lack it.
    every_accumulator = [*layout_accumulators, *(each for reader in readers for each in reader.sums.accumulators)]
    shards = source.batches.shards()
    if device_of(source.model).type != "cpu":
        # The next shard is read and tokenized while an accelerator computes.
        shards = ahead(shards, most=1)
    for shard in shards:
        lacking = [reader for reader in readers if reader.lacks(shard)]
        if not lacking:
            # A shard of another part is skipped, if possible before it is made into inputs.
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
    """Return the sums of one shard.

    Args:
        shard: shard with its inputs.
        source: model that reads them, over sharded inputs of the same run.
        like: sums with the scan's options.
        layout_accumulators: accumulators as in `scan_shards`.
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
    """Compute a shard; if memory runs out, drop its sums and start again with smaller batches.

    Returns:
        The sums of each stage that lacked it, and the seconds spent on each.
    """
    batches = source.batches
    assert isinstance(batches, ShardedBatches)

    def compute() -> tuple[list[ShardSums], list[float]]:
        sums_of_stages, part = [each.empty() for each in like], copy(source)
        part.batches = batches.of(shard)
        if isinstance(part, LossSource):
            (counts,) = (each.counts for each in sums_of_stages)  # a scan with a loss serves a single stage
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
    """Divide a scan's seconds among stages: the time of a stage's own accumulators, and an equal share of the rest.

    Args:
        counts: counts of the scan.
        numbers: number of accumulators of each stage.
    """
    shared = (counts.seconds - sum(counts.spent)) / len(numbers)
    seconds, spent = [], iter(counts.spent)
    for number in numbers:
        seconds.append(shared + sum(next(spent, 0.0) for _ in range(number)))
    return seconds
