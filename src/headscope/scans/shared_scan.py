"""One pass over a run's text for all stages that scan it: the first stage that reads it fills the others' sums."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headscope.scans.scan_declaration import Scan
from headscope.scans.scan_progress import ProgressReport
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.sharded_scan import scan_shards
from headscope.scans.stage_sums import StageSums
from headscope.statistics.sums.accumulator import Accumulator


class SharedScan:
    """The pass over a run's text, which goes through the model once, whichever stages are measured.

    A finished stage is not computed again, and yet the other stages' digits are as if it were (`scan_shards`).

    Args:
        scans: functions that make the text scan, with empty accumulators, of each stage that has one, by stage.
        unfinished: stages among them that are not finished.
        checkpoint: function that returns the shard checkpoint of a stage; None if it keeps none.
        executor: executor that computes the shards; None for this process.

    Attributes:
        owed: seconds that other stages spent on a stage, or minus the seconds that it spent on others, by its name.
    """

    def __init__(
        self,
        scans: Mapping[str, Callable[[], Scan]],
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

        The first stage that reads the text also fills the accumulators of all other stages.

        Args:
            stage: name of the stage.
            scan: scan of the text, with empty accumulators; if the text was read before, nothing is read.
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
            layout_accumulators=self.layout_accumulators(),
        )
        others = stages[1:]
        self._unfinished = []
        self._filled = {other.stage: other.accumulators for other in others}
        self.owed = {other.stage: other.seconds for other in others}
        self.owed[stage] = -sum((other.seconds for other in others), 0.0)

    def layout_accumulators(self) -> list[Accumulator]:
        """Return empty accumulators of all stages, finished or not, which together determine tiles and batches."""
        return [each for make in self._scans.values() for each in make().accumulators]
