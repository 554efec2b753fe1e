"""How far a run is, and who is told."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headscope.attention.scan import ScanCounts


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        stage: what is being done, in a word or two.
        documents: documents done.
        total: documents in all, or None where that is not known.
        segments: inputs computed.
        limit: inputs at most, or None.
        seconds: since the stage began.
        unit: what `segments` and `limit` count where the work is not by documents, as `sentences`; else None.
        step, steps: which of the run's stages this is, from 1, and how many there are with what follows them, such as
            drawing; None where it is none of them.
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

    @property
    def share(self) -> float | None:
        """Share of the work done, 0 to 1, or None where it is not known."""
        shares = []
        if self.limit:
            shares.append(self.segments / self.limit)
        if self.total:
            shares.append(self.documents / self.total)
        return min(1.0, max(shares)) if shares else None

    @property
    def begun(self) -> bool:
        """Whether anything was counted yet; what loads or draws counts nothing."""
        return bool(self.documents or self.segments)

    @property
    def share_of_all(self) -> float | None:
        """Share of the whole run's stages that is done, below 1 as long as anything is left; None where not known."""
        if self.step is None or self.steps is None:
            return None
        # What was read has still to be worked out.
        return (self.step - 1 + min(self.share or 0.0, 0.99)) / self.steps


Watcher = Callable[[Progress], None]


def tell(watch: Watcher | None, stage: str, *, step: int | None = None, steps: int | None = None) -> None:
    """Tell a watcher, if any, what is begun."""
    if watch is not None:
        watch(Progress(stage, step=step, steps=steps))


def in_step(watch: Watcher | None, step: int, steps: int) -> Watcher | None:
    """Return a watcher that is told, with all else, which of how many stages it is."""
    if watch is None:
        return None
    return lambda progress: watch(replace(progress, step=step, steps=steps))


def scan_teller(
    watch: Watcher | None,
    stage: str,
    documents: Callable[[int], int],
    *,
    total: int | None,
    limit: int | None,
) -> Callable[[ScanCounts], None] | None:
    """Return what a scan tells its progress to, or None where nobody listens.

    Args:
        watch: who listens.
        stage: what is being done, in a word or two.
        documents: about how many documents so many inputs make up.
        total: documents in all, or None where that is not known.
        limit: inputs at most, or None.
    """
    if watch is None:
        return None
    return lambda done: watch(
        Progress(stage, documents(done.segments), total, done.segments, limit, done.seconds)
    )
