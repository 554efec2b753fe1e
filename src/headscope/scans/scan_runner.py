"""Run the scans that a run's stages declare: in shared passes over the text, by shards, with checkpoints."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

from headscope.scans.passes import scan_shards
from headscope.scans.progress import ProgressReport, Watcher, scan_teller
from headscope.scans.scan_declaration import Scan, ScanSums, ShardExecutor
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.stage_sums import StageSums
from headscope.statistics.sums.accumulator import Accumulator

MakeScan = Callable[[], Scan]
"""A function that makes a scan with empty accumulators."""


class SharedScan:
    """A pass over inputs that several stages read, such as a run's text, whichever of these stages are measured.

    A finished stage is not computed again, and yet the other stages' digits are as if it were (`scan_shards`).

    Args:
        scans: functions that make the scan of each stage that has one, by stage.
        unfinished: stages among them that are not finished.
        checkpoint: function that returns the shard checkpoint of a stage; None if it keeps none.
        executor: executor that computes the shards; None for this process.

    Attributes:
        owed: seconds that other stages spent on a stage, or minus the seconds that it spent on others, by its name.
    """

    def __init__(
        self,
        scans: Mapping[str, MakeScan],
        *,
        unfinished: Iterable[str],
        checkpoint: Callable[[str], ShardCheckpoint | None],
        executor: ShardExecutor | None = None,
    ) -> None:
        self.owed: dict[str, float] = {}
        self._scans, self._unfinished = scans, list(unfinished)
        self._checkpoint, self._executor = checkpoint, executor
        self._filled: dict[str, Sequence[Accumulator]] = {}

    def read(self, stage: str, scan: Scan, *, progress: ProgressReport | None) -> None:
        """Fill the accumulators of a stage, by the pass itself or with sums from an earlier stage's pass.

        The first stage that reads the inputs also fills the accumulators of all other stages.

        Args:
            stage: name of the stage.
            scan: its scan, with empty accumulators; if the inputs were read before, nothing is read.
            progress: function that receives the counts, as in `scan_shards`.
        """
        filled = self._filled.pop(stage, None)
        if filled is not None:
            for accumulator, sums in zip(scan.accumulators, filled, strict=True):
                accumulator.merge(sums)
            return
        stages = [StageSums(stage, scan.accumulators, self._checkpoint(stage))]
        stages += [
            StageSums(name, self._scans[name]().accumulators, self._checkpoint(name))
            for name in self._unfinished
            if name != stage
        ]
        scan_shards(
            scan.corpus.source(),
            stages,
            executor=self._executor,
            scan_name=scan.name,
            progress=progress,
            layout_accumulators=self.layout_accumulators() or None,  # a stage may be measured without a run
        )
        others = stages[1:]
        self._unfinished = []
        self._filled = {other.stage: other.accumulators for other in others}
        self.owed = {other.stage: other.seconds for other in others}
        self.owed[stage] = -sum((other.seconds for other in others), 0.0)

    def layout_accumulators(self) -> list[Accumulator]:
        """Return empty accumulators of all stages, finished or not, which together determine tiles and batches."""
        return [each for make in self._scans.values() for each in make().accumulators]


def keep_nothing(stage: str) -> None:
    """Return no checkpoint for a stage: a run without a folder keeps nothing."""


class ScanRunner:
    """Runner of scans. A stage only declares its sums and need not know how they are computed.

    Args:
        shared_scans: functions that make the scans of each stage that has one, by shared pass (`ScanCorpus.shared`) and
            stage; a pass that is not among them serves one stage.
        finished: names of stages that are not measured again.
        checkpoint: function that returns the shard checkpoint of a stage, by its name; None if it keeps none.
        executor: executor that computes the shards of all scans; None for this process.
    """

    def __init__(
        self,
        shared_scans: Mapping[str, Mapping[str, MakeScan]] | None = None,
        *,
        finished: Collection[str] = (),
        checkpoint: Callable[[str], ShardCheckpoint | None] = keep_nothing,
        executor: ShardExecutor | None = None,
    ) -> None:
        # One checkpoint per stage, because it knows when the stage has last kept something.
        self._checkpoint, self._executor = cache(checkpoint), executor
        self._shared = {
            name: SharedScan(
                scans,
                unfinished=[stage for stage in scans if stage not in finished],
                checkpoint=self._checkpoint,
                executor=executor,
            )
            for name, scans in (shared_scans or {}).items()
        }

    def run(self, stage: str, scans: Iterable[Scan], watch: Watcher | None = None) -> ScanSums:
        """Run the scans of a stage, one after another; return their filled accumulators.

        In a part of a run the accumulators stay empty: the sums of its shards are in the checkpoint.

        Args:
            stage: name of the stage.
            scans: scans of the stage.
            watch: function that receives the progress.
        """
        sums, before = {}, 0.0
        for scan in scans:
            corpus = scan.corpus
            progress = scan_teller(
                watch, scan.label or stage, corpus.documents_read, total=corpus.total, limit=corpus.limit,
                before=before, until=scan.until,
            )  # fmt: skip
            before = scan.until or before
            if (shared := self._shared_scan(scan)) is not None:
                shared.read(stage, scan, progress=progress)
            else:
                scan_shards(
                    corpus.source(),
                    [StageSums(stage, scan.accumulators, self._checkpoint(stage))],
                    executor=None if scan.local else self._executor,
                    scan_name=scan.name,
                    progress=progress,
                )
            sums[scan.name] = scan.accumulators
        return ScanSums(sums)

    def owed(self, stage: str) -> float:
        """Return the seconds that other stages spent on this stage, or minus the seconds that it spent on others."""
        return sum((shared.owed.get(stage, 0.0) for shared in self._shared.values()), 0.0)

    def layout_accumulators(self, scan: Scan) -> list[Accumulator]:
        """Return the accumulators of all stages that determine the tiles and batches of a scan."""
        shared = self._shared_scan(scan)
        return list(scan.accumulators) if shared is None else shared.layout_accumulators()

    def _shared_scan(self, scan: Scan) -> SharedScan | None:
        """Return the shared pass of a scan; None if it is a separate pass."""
        return self._shared.get(scan.corpus.shared or "")
