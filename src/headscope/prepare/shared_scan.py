"""One scan of a run's text for all stages that sum over it: whoever asks first reads for those behind it, too."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from headscope.attention.model.model_source import TileSource
from headscope.prepare.elsewhere import OneScan
from headscope.prepare.options import RunOptions
from headscope.prepare.progress import Watcher, scan_teller
from headscope.prepare.scan_progress import ProgressReport
from headscope.prepare.shard_checkpoint import ShardCheckpoint
from headscope.prepare.sharded_scan import Beside, scan_shards
from headscope.statistics.accumulator import Accumulator

MakeSums = Callable[[], Sequence[Accumulator]]


class SharedScan:
    """The scan of a run's text, which goes through the model once, whichever stages are measured.

    A stage that is finished is not computed again, and yet changes no digit of the others (`scan_shards`).

    Args:
        sums: what makes the accumulators of each stage of the run that reads its text so, by its name.
        lacking: of those, the stages that are not finished.
        keep: says where a stage keeps its shards; None where it keeps none.

    Attributes:
        owed: seconds that another stage spent for a stage (or, below 0, that it spent for others), by its name.
    """

    def __init__(
        self,
        sums: Mapping[str, MakeSums],
        *,
        lacking: Iterable[str],
        keep: Callable[[str], ShardCheckpoint | None],
    ) -> None:
        self.owed: dict[str, float] = {}
        self._sums, self._lacking, self._keep = sums, list(lacking), keep
        self._ready: dict[str, Sequence[Accumulator]] = {}

    def read(
        self,
        stage: str,
        accumulators: Sequence[Accumulator],
        source: Callable[[], TileSource],
        *,
        kept: ShardCheckpoint | OneScan | None,
        progress: ProgressReport | None,
    ) -> None:
        """Fill a stage's accumulators: from its scan, in which all that follow are filled, or from an earlier one's.

        Args:
            stage: its name.
            accumulators: as `sums` makes them, empty.
            source: gives the stream of tiles; not asked where it was read already.
            kept: where the stage keeps its shards.
            progress: as `scan_shards` takes it.
        """
        ready = self._ready.pop(stage, None)
        if ready is not None:
            for own, filled in zip(accumulators, ready, strict=True):
                own.merge(filled)
            return
        # A cluster computes one stage's sums at a time, though as if it were fed for all.
        alone = isinstance(kept, OneScan) or (kept is not None and kept.elsewhere is not None)
        others = [] if alone else [name for name in self._lacking if name != stage]
        made = {name: self._sums[name]() for name in self._sums if name != stage}
        seconds = scan_shards(
            source(),
            accumulators,
            kept=kept,
            progress=progress,
            beside=[Beside(accumulators=made[name], kept=self._keep(name)) for name in others],
            alike=[each for name, sums in made.items() if name not in others for each in sums],
        )
        if alone:
            return
        self._lacking = []
        self._ready = {name: made[name] for name in others}
        self.owed = dict(zip(others, seconds[1:], strict=True))
        self.owed[stage] = -sum(seconds[1:])


@runtime_checkable
class Readable(Protocol):
    """What reading a run's text asks of it."""

    options: RunOptions
    kept: ShardCheckpoint | OneScan | None
    shared: SharedScan | None

    @property
    def total(self) -> int | None:
        """Documents in all, where that is known."""

    def done(self, segments: int) -> int:
        """About how many documents so many computed segments make up."""

    def source(self) -> TileSource:
        """Return the stream of tiles."""


def read_text(
    run: Readable,
    accumulators: Sequence[Accumulator],
    *,
    stage: str,
    said: str,
    watch: Watcher | None = None,
) -> None:
    """Feed the run's text to a stage's accumulators, in the one scan that its stages share.

    Args:
        run: the run.
        accumulators: what the stage's `sums` makes of the run; updated in place.
        stage: its name.
        said: what is being done, in a word or two.
        watch: told of progress.
    """
    tell = scan_teller(watch, said, run.done, total=run.total, limit=run.options.max_inputs)
    if run.shared is None:
        scan_shards(run.source(), accumulators, kept=run.kept, progress=tell)
    else:
        run.shared.read(stage, accumulators, run.source, kept=run.kept, progress=tell)
