"""One pass over a run's text for all stages that scan it: the first stage that reads it fills the others' sums."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headscope.scans.scan_declaration import Scan
from headscope.scans.scan_progress import ProgressReport
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.sharded_scan import Beside, scan_shards
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
        # An executor computes the sums of one stage at a time, with tiles and batches as if it fed all of them.
        others = [] if self._executor else [name for name in self._unfinished if name != stage]
        accumulators = {name: make().accumulators for name, make in self._scans.items() if name != stage}
        seconds = scan_shards(
            scan.corpus.source(),
            scan.accumulators,
            checkpoint=self._checkpoint(stage),
            executor=self._executor,
            scan_name=scan.name,
            progress=progress,
            beside=[Beside(accumulators=accumulators[name], checkpoint=self._checkpoint(name)) for name in others],
            layout_accumulators=[
                each for name, several in accumulators.items() if name not in others for each in several
            ],
        )
        if self._executor:
            return
        self._unfinished = []
        self._filled = {name: accumulators[name] for name in others}
        self.owed = dict(zip(others, seconds[1:], strict=True))
        self.owed[stage] = -sum(seconds[1:], 0.0)

    def layout_accumulators(self, stage: str) -> list[Accumulator]:
        """Return empty accumulators of all other stages, which determine tiles and batches along with this stage's."""
        return [each for name, make in self._scans.items() if name != stage for each in make().accumulators]
