"""Runs the scans that the stages of a run declare: in one pass, by shards, with checkpoints, here or on workers."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache

from headscope.scans.progress import Watcher, scan_teller
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.sharded_scan import scan_shards
from headscope.scans.shared_scan import SharedScan
from headscope.statistics.sums.accumulator import Accumulator


def keep_nothing(stage: str) -> None:
    """Return no checkpoint for a stage: a run without a folder keeps nothing."""


class ScanRunner:
    """Runs scans. A stage that declares what it sums needs to know nothing of what is done here.

    Args:
        text_scans: makes the scan of the text of each stage of the run that has one, by the stage; none, and every
            scan is a pass of its own.
        finished: stages that are not measured again.
        checkpoint: returns where a stage keeps its shards, by its name; None where it keeps none.
        executor: computes the shards of all scans; None where this process does.
    """

    def __init__(
        self,
        text_scans: Mapping[str, Callable[[], Scan]] | None = None,
        *,
        finished: Collection[str] = (),
        checkpoint: Callable[[str], ShardCheckpoint | None] = keep_nothing,
        executor: ShardExecutor | None = None,
    ) -> None:
        # One of each stage, which knows when the stage has last kept something.
        self._checkpoint, self._executor = cache(checkpoint), executor
        self._text_scans = text_scans or {}
        self._shared = SharedScan(
            self._text_scans,
            unfinished=[stage for stage in self._text_scans if stage not in finished],
            checkpoint=self._checkpoint,
            executor=executor,
        )

    def run(self, stage: str, scans: Iterable[Scan], watch: Watcher | None = None) -> ScanSums:
        """Run the scans of a stage, one after another; return their filled accumulators.

        In a part of a run the accumulators stay empty: the sums of its shards are in the checkpoint.

        Args:
            stage: name of the stage.
            scans: of the stage.
            watch: told of progress.
        """
        sums = {}
        for scan in scans:
            corpus = scan.corpus
            progress = scan_teller(
                watch, scan.label or stage, corpus.documents_read, total=corpus.total, limit=corpus.limit
            )
            if isinstance(corpus, RunText):
                self._shared.read(stage, scan, progress=progress)
            else:
                scan_shards(
                    corpus.source(),
                    scan.accumulators,
                    checkpoint=self._checkpoint(stage),
                    executor=None if scan.local else self._executor,
                    scan_name=scan.name,
                    progress=progress,
                )
            sums[scan.name] = scan.accumulators
        return ScanSums(sums)

    def owed(self, stage: str) -> float:
        """Return the seconds that another stage spent for a stage, or, below 0, that it spent for others."""
        return self._shared.owed.get(stage, 0.0)

    def layout_accumulators(self, stage: str, scan: Scan) -> list[Accumulator]:
        """Return the accumulators of other stages that decide about tiles and batches of a scan, too."""
        return self._shared.layout_accumulators(stage) if isinstance(scan.corpus, RunText) else []
