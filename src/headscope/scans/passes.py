"""Passes over a text, whole or shard by shard: with half the batch size from the start where memory runs out."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from typing import TypeVar

from headscope.attention.model.loss_source import LossSource
from headscope.attention.model.model_source import ModelSource, TileSource
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.scan import ScanCounts, TileAccumulator, scan
from headscope.encoding.batching import ahead
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.errors import MemoryShortError
from headscope.models.placement import device_of
from headscope.scans.progress import ProgressReport, ScanProgress
from headscope.scans.scan_declaration import ShardExecutor, ShardJob
from headscope.scans.stage_sums import ShardSums, StageSums

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


def scan_shards(
    source: TileSource,
    stages: Sequence[StageSums],
    *,
    executor: ShardExecutor | None = None,
    scan_name: str = "trained",
    progress: ProgressReport | None = None,
    layout_accumulators: Sequence[TileAccumulator] | None = None,
) -> None:
    """Feed every tile of a source to the accumulators of every stage, like `scan`, but shard by shard.

    A shard is computed once for all stages that lack it. The result is identical to the last digit whether shards are
    kept, read back, or computed by an executor.

    Args:
        source: model over sharded inputs; any other source is scanned as a whole.
        stages: sums of the stages that read the scan, updated in place with their seconds.
        executor: executor that computes the shards in place of this process.
        scan_name: name of the scan within its stages, in letters, digits and `-`.
        progress: function that is called after each batch, and after each shard that was computed elsewhere or before.
        layout_accumulators: accumulators that decide tiles and batches; those of the stages if None.

    Raises:
        AttentionError: as `scan`.
        MemoryShortError: memory does not suffice for a single input.
        InputError: the inputs are not those of the stopped run.
    """
    every = [each for stage in stages for each in stage.accumulators]
    layout_accumulators = every if layout_accumulators is None else layout_accumulators
    if not isinstance(source, SegmentSource) or not isinstance(source.batches, ShardedBatches):
        counts = scan(source, every, progress=progress, layout_accumulators=layout_accumulators)
        _add_seconds(stages, counts)
        return
    for stage in stages:
        stage.begin(source, scan_name)
    shards = source.batches.shards()
    if executor is None and device_of(source.model).type != "cpu":
        # The next shard is read and tokenized while an accelerator computes.
        shards = ahead(shards, most=1)
    jobs = (ShardJob(shard, tuple(stage.stage for stage in stages if stage.lacks(shard))) for shard in shards)
    scan_progress, began = ScanProgress(progress), time.perf_counter()
    by_name = {stage.stage: stage for stage in stages}
    if executor is None:
        results = _compute_here(jobs, source, by_name, layout_accumulators, scan_progress)
    else:
        results = (
            (job, [by_name[name].sums.read(state) for name, state in zip(job.stages, states, strict=True)])
            for job, states in executor.compute(scan_name, jobs)
        )
    for job, computed in results:
        # The shards of other parts are not counted, because only counting would make them into inputs.
        if executor is not None or (not job.stages and stages[0].part is None):
            scan_progress.count(job.shard)
        new = dict(zip(job.stages, computed, strict=True))
        for stage in stages:
            stage.add(job.shard, new.get(stage.stage))
    for stage in stages:
        stage.end()
        if executor is not None:
            stage.seconds += (time.perf_counter() - began) / len(stages)


def compute_shard(
    shard: Shard,
    source: SegmentSource,
    like: Sequence[ShardSums],
    *,
    layout_accumulators: Sequence[TileAccumulator],
    progress: ScanProgress | None = None,
) -> tuple[list[ShardSums], ScanCounts]:
    """Compute a shard; if memory runs out, drop its sums and start again with smaller batches.

    Args:
        shard: shard with its inputs.
        source: model that reads them, over sharded inputs of the same run.
        like: sums with the scan's options, of each stage.
        layout_accumulators: accumulators that decide tiles and batches.
        progress: progress that receives the counts after each batch.

    Returns:
        The sums of each stage, and the counts of the scan.
    """
    batches = source.batches
    assert isinstance(batches, ShardedBatches)

    def compute() -> tuple[list[ShardSums], ScanCounts]:
        sums_of_stages, part = [each.empty() for each in like], copy(source)
        part.batches = batches.of(shard)
        if isinstance(part, LossSource):
            (counts,) = (each.counts for each in sums_of_stages)  # a scan with a loss serves a single stage
            assert counts is not None
            part.counts = counts
        counted = scan(
            part,
            [each for sums in sums_of_stages for each in sums.accumulators],
            progress=None if progress is None else progress.batch,
            layout_accumulators=layout_accumulators,
        )
        return sums_of_stages, counted

    return with_fewer_inputs(compute, batches.limit.halve)


def _compute_here(
    jobs: Iterator[ShardJob],
    source: SegmentSource,
    stages: Mapping[str, StageSums],
    layout_accumulators: Sequence[TileAccumulator],
    progress: ScanProgress,
) -> Iterator[tuple[ShardJob, list[ShardSums]]]:
    """Compute jobs in this process; yield each with the sums of its stages."""
    for job in jobs:
        lacking, computed = [stages[name] for name in job.stages], list[ShardSums]()
        if lacking:
            like = [stage.sums for stage in lacking]
            computed, counts = compute_shard(
                job.shard, source, like, layout_accumulators=layout_accumulators, progress=progress
            )
            progress.end()
            _add_seconds(lacking, counts)
        yield job, computed


def _add_seconds(stages: Sequence[StageSums], counts: ScanCounts) -> None:
    """Divide a scan's seconds among stages: the time of a stage's accumulators, and an equal share of the rest."""
    shared, spent = (counts.seconds - sum(counts.spent)) / len(stages), iter(counts.spent)
    for stage in stages:
        stage.seconds += shared + sum(next(spent, 0.0) for _ in stage.accumulators)
