"""The progress of a whole scan, summed over its shards."""

import time
from collections.abc import Callable

from headscope.attention.scan import ScanCounts
from headscope.encoding.shards import Shard

ProgressReport = Callable[[ScanCounts], None]


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
