"""Counts of a whole scan for whoever listens, made of those of its shards."""

import time
from collections.abc import Callable, Sequence

from headscope.attention.scan import ScanCounts
from headscope.encoding.shards import Shard

Telling = Callable[[ScanCounts], None]


class ToldCounts:
    """Counts of the whole scan for whoever listens, made of those of its shards."""

    def __init__(self, progress: Telling | None) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.before = self.now = ScanCounts(0, 0, 0.0)

    def batch(self, counts: ScanCounts) -> None:
        """Tell of a batch of the shard at hand."""
        self.now = ScanCounts(
            self.before.segments + counts.segments,
            self.before.tokens + counts.tokens,
            time.perf_counter() - self.began,
            max(self.before.held_bytes, counts.held_bytes),
        )
        if self.progress is not None:
            self.progress(self.now)

    def end(self) -> None:
        """Begin with the next shard."""
        self.before = self.now

    def skipped(self, shard: Shard) -> None:
        """Tell of a shard that need not be computed."""
        self.came([(len(shard.segments), sum(map(len, shard.segments)))])

    def came(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Tell of shards that others computed: the inputs and tokens of each."""
        segments, tokens = map(sum, zip(*sizes, strict=True))
        self.batch(ScanCounts(segments, tokens, 0.0))
        self.end()
