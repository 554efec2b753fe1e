"""One pass over a run's text for all stages that have a scan of it: the first stage that reads it fills the others'."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headscope.scans.scan_declaration import Scan
from headscope.scans.scan_progress import ProgressReport
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.sharded_scan import Beside, scan_shards
from headscope.statistics.sums.accumulator import Accumulator


class SharedScan:
    """The pass over a run's text, which goes through the model once, whichever stages are measured.

    A stage that is finished is not computed again, and yet changes no digit of the others (`scan_shards`).

    Args:
        scans: makes the scan of the text of each stage of the run that has one, with empty accumulators, by the stage.
        unfinished: of those, the stages that are not finished.
        checkpoint: returns where a stage keeps its shards; None where it keeps none.
        executor: computes the shards; None where this process does.

    Attributes:
        owed: seconds that another stage spent for a stage (or, below 0, that it spent for others), by its name.
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
        """Fill the accumulators of a stage, by the pass itself or with what an earlier stage has had it sum up.

        The first stage that reads it has those of all other stages filled, too.

        Args:
            stage: its name.
            scan: of the text, with empty accumulators; nothing is read where the text was read already.
            progress: as `scan_shards` takes it.
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
        """Return empty accumulators of all other stages, which decide about tiles and batches as this one's do."""
        return [each for name, make in self._scans.items() if name != stage for each in make().accumulators]
