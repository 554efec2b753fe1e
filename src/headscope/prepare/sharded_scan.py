"""A scan shard by shard: sums made for each by itself and joined in their order, kept on disk as it goes."""

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from typing import Any

from numpy.typing import NDArray

from headscope.attention.gradients import GradientSource, LossCounts
from headscope.attention.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, scan
from headscope.encoding.ahead import ahead
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.errors import InputError
from headscope.prepare.kept_shards import KeptShards, Prefix
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import State

Telling = Callable[[ScanCounts], None]


def scan_shards(
    source: TileSource,
    accumulators: Sequence[Accumulator],
    *,
    kept: KeptShards | None = None,
    scan_name: str = "trained",
    progress: Telling | None = None,
) -> None:
    """Feed every tile of a source to every accumulator, as `scan` does, but by shards.

    The same digits come out whether shards are kept, found again, or were computed elsewhere. Where the run is one part
    of several only its own shards are computed and kept, and the accumulators stay empty.

    Args:
        source: a model over sharded inputs; any other is scanned as a whole.
        accumulators: updated in place.
        kept: where shards are kept; None keeps none.
        scan_name: which scan of its stage it is, in letters, digits and `-`.
        progress: called after each batch, and after each shard that was found.

    Raises:
        AttentionError: as `scan`.
        InputError: the inputs are not those of the run that was stopped.
    """
    if not isinstance(source, ModelSource | GradientSource) or not isinstance(source.batches, ShardedBatches):
        scan(source, accumulators, progress=progress)
        return
    own = _Sums.of(source, accumulators)
    told = _Told(progress)
    if kept is not None and kept.part is not None:
        _scan_part(source, own, kept, scan_name, told)
        return
    found = None if kept is None else kept.prefix(scan_name)
    done, chain, written = 0, "", 0
    shards = source.batches.shards()
    if next(source.model.parameters()).device.type != "cpu":
        # The next shard is read and tokenised while an accelerator computes.
        shards = ahead(shards, most=1)
    for shard in shards:
        chain = blake2b(f"{chain} {shard.digest}".encode(), digest_size=16).hexdigest()
        done = shard.number + 1
        if found is not None and done <= found.shards:
            if done == found.shards:
                _check_chain(found, chain)
                own.merge(own.read(found.arrays))
                written = done
            told.skipped(shard)
            continue
        own.merge(_sums_of(shard, source, own, kept, scan_name, told))
        if kept is not None and kept.is_due(last=False):
            kept.keep_prefix(scan_name, Prefix(done, chain, own.state()))
            written = done
    if kept is not None and written < done and kept.is_due(last=True):
        kept.keep_prefix(scan_name, Prefix(done, chain, own.state()))


class _Sums:
    """What a scan adds up: its accumulators, and what a gradient's source counts."""

    def __init__(self, accumulators: Sequence[Accumulator], counts: LossCounts | None) -> None:
        self.accumulators, self.counts = accumulators, counts

    @classmethod
    def of(cls, source: TileSource, accumulators: Sequence[Accumulator]) -> "_Sums":
        for each in accumulators:
            if not each.is_open:
                each.open(source.layout)
        return cls(accumulators, source.counts if isinstance(source, GradientSource) else None)

    def empty(self) -> "_Sums":
        """Return others with the same options, which have seen nothing."""
        made = [type(each).with_settings(each.layout, each.settings()) for each in self.accumulators]
        return _Sums(made, None if self.counts is None else LossCounts())

    def read(self, arrays: Mapping[str, NDArray[Any]]) -> "_Sums":
        """Return those whose state was kept."""

        def own(start: str) -> State:
            return {
                name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
            }

        made = [type(each).from_state(own(f"{place}.")) for place, each in enumerate(self.accumulators)]
        counts = None
        if self.counts is not None:
            counts = LossCounts()
            counts.restore(own("counts."))
        return _Sums(made, counts)

    def merge(self, other: "_Sums") -> None:
        for each, more in zip(self._stores(), other._stores(), strict=True):
            each.merge(more)

    def state(self) -> State:
        names = [*map(str, range(len(self.accumulators))), "counts"]
        return {
            f"{start}.{name}": array
            for start, each in zip(names, self._stores())
            for name, array in each.state().items()
        }

    def _stores(self) -> list[Any]:
        return [*self.accumulators, *([] if self.counts is None else [self.counts])]


class _Told:
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
        tokens = sum(map(len, shard.segments))
        self.batch(ScanCounts(len(shard.segments), tokens, 0.0))
        self.end()


def _sums_of(
    shard: Shard,
    source: ModelSource | GradientSource,
    like: _Sums,
    kept: KeptShards | None,
    scan_name: str,
    told: _Told,
) -> _Sums:
    """Return the sums of one shard: as another part of the run kept them, or computed."""
    arrays = None if kept is None else kept.shard(scan_name, shard.number, shard.digest)
    if arrays is not None:
        told.skipped(shard)
        return like.read(arrays)
    return _computed(shard, source, like, told)


def _computed(shard: Shard, source: ModelSource | GradientSource, like: _Sums, told: _Told) -> _Sums:
    own, part = like.empty(), copy(source)
    assert isinstance(source.batches, ShardedBatches)
    part.batches = source.batches.of(shard)
    if isinstance(part, GradientSource) and own.counts is not None:
        part.counts = own.counts
    scan(part, own.accumulators, progress=told.batch)
    told.end()
    return own


def _scan_part(
    source: ModelSource | GradientSource, like: _Sums, kept: KeptShards, scan_name: str, told: _Told
) -> None:
    """Compute and keep the shards that are this part's, and that are not kept yet."""
    assert isinstance(source.batches, ShardedBatches)
    assert kept.part is not None
    for shard in source.batches.shards():
        if not kept.part.has(shard.number) or kept.shard(scan_name, shard.number, shard.digest) is not None:
            told.skipped(shard)
            continue
        made = _computed(shard, source, like, told)
        kept.keep_shard(scan_name, shard.number, shard.digest, made.state())


def _check_chain(found: Prefix, chain: str) -> None:
    if chain != found.chain:
        raise InputError(
            f"the first {found.shards:,} shards of the text are not those of the run that was stopped; delete the "
            "folder shards of this run, and run again"
        )
