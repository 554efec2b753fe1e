"""How far a run is, and who is told."""

from collections.abc import Callable
from dataclasses import dataclass

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
    """

    stage: str
    documents: int
    total: int | None
    segments: int
    limit: int | None
    seconds: float
    unit: str | None = None

    @property
    def share(self) -> float | None:
        """Share of the work done, 0 to 1, or None where it is not known."""
        shares = []
        if self.limit:
            shares.append(self.segments / self.limit)
        if self.total:
            shares.append(self.documents / self.total)
        return min(1.0, max(shares)) if shares else None


Watcher = Callable[[Progress], None]


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
