"""Progress of a run and of a whole scan, summed over its shards."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from headscope.attention.scan import ScanCounts
from headscope.encoding.shards import Shard

ProgressReport = Callable[[ScanCounts], None]


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes:
        stage: the current activity, in a word or two.
        documents: number of documents done.
        total: number of all documents, or None if it is unknown.
        segments: number of inputs done.
        limit: maximum number of inputs, or None.
        seconds: seconds since the stage began.
        unit: unit of `segments` and `limit` if the work is not counted by documents, such as `sentences`; else None.
        step, steps: 1-based number of the run's current stage, and number of stages and later steps such as drawing;
            None outside of stages.
        left: estimated seconds left of the run; None if nothing was timed yet.
        before, until: shares of the stage's time that are over when this activity begins and ends; None if unknown.
        note: note that the user should see before anything is measured; usually empty.
    """

    stage: str
    documents: int = 0
    total: int | None = None
    segments: int = 0
    limit: int | None = None
    seconds: float = 0.0
    unit: str | None = None
    step: int | None = None
    steps: int | None = None
    note: str = ""
    left: float | None = None
    before: float = 0.0
    until: float | None = None

    @property
    def of_stage(self) -> float | None:
        """Share of the stage's time that is over; None if it is unknown."""
        return None if self.until is None else self.before + (self.share or 0.0) * (self.until - self.before)

    @property
    def share(self) -> float | None:
        """Share of the work that is done, 0 to 1, or None if it is unknown."""
        shares = []
        if self.limit:
            shares.append(self.segments / self.limit)
        if self.total:
            shares.append(self.documents / self.total)
        return min(1.0, max(shares)) if shares else None

    @property
    def begun(self) -> bool:
        """True if anything was counted yet; loading and drawing count nothing."""
        return bool(self.documents or self.segments)


Watcher = Callable[[Progress], None]


def tell(watch: Watcher | None, stage: str, *, step: int | None = None, steps: int | None = None) -> None:
    """Report the beginning of an activity to a watcher, if there is one."""
    if watch is not None:
        watch(Progress(stage, step=step, steps=steps))


def note_early(watch: Watcher | None, note: str) -> None:
    """Report a note that the user should see before anything is measured."""
    if watch is not None:
        watch(Progress("loading the model", note=note))


def in_step(
    watch: Watcher | None, step: int, steps: int, *, left: Callable[[Progress], float | None]
) -> Watcher | None:
    """Return a watcher that adds the number of the stage and the remaining time of the run to every report."""
    if watch is None:
        return None
    return lambda progress: watch(replace(progress, step=step, steps=steps, left=left(progress)))


def scan_teller(
    watch: Watcher | None,
    stage: str,
    documents: Callable[[int], int],
    *,
    total: int | None,
    limit: int | None,
    before: float = 0.0,
    until: float | None = None,
) -> Callable[[ScanCounts], None] | None:
    """Return a callback that reports a scan's counts to a watcher, or None without a watcher.

    Args:
        watch: watcher that receives the reports.
        stage: the current activity, in a word or two.
        documents: function that estimates the number of documents in a number of inputs.
        total: number of all documents, or None if it is unknown.
        limit: maximum number of inputs, or None.
        before, until: as in `Progress`.
    """
    if watch is None:
        return None
    about = Progress(stage, total=total, limit=limit, before=before, until=until)
    return lambda done: watch(
        replace(about, documents=documents(done.segments), segments=done.segments, seconds=done.seconds)
    )


class ScanProgress:
    """Reports the counts of the whole scan, summed over its shards.

    Args:
        progress: function that receives the counts after each batch; None for no reports.
    """

    def __init__(self, progress: ProgressReport | None) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.before = self.now = ScanCounts(0, 0, 0.0)

    def batch(self, counts: ScanCounts) -> None:
        """Report the counts of the current shard, after a batch."""
        self.now = ScanCounts(
            self.before.segments + counts.segments,
            self.before.tokens + counts.tokens,
            time.perf_counter() - self.began,
            max(self.before.held_bytes, counts.held_bytes),
        )
        if self.progress is not None:
            self.progress(self.now)

    def end(self) -> None:
        """End the current shard."""
        self.before = self.now

    def count(self, shard: Shard) -> None:
        """Report a shard that was computed before, or elsewhere."""
        self.batch(ScanCounts(len(shard.segments), sum(map(len, shard.segments)), 0.0))
        self.end()
