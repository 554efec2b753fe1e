"""A scan shard by shard: sums made for each by itself and joined in one tree, kept on disk as it goes."""

import time
from collections.abc import Callable, Sequence
from copy import copy
from hashlib import blake2b
from typing import NoReturn

from headscope.attention.gradients import GradientSource
from headscope.attention.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, scan
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.errors import InputError
from headscope.prepare.kept_shards import KeptShards, Prefix
from headscope.prepare.shard_sums import ShardSums, SumsTree
from headscope.statistics.accumulator import Accumulator

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
    own = ShardSums.of(source, accumulators)
    told = _Told(progress)
    if kept is not None and kept.part is not None:
        _scan_part(source, own, kept, scan_name, told)
        return
    found = None if kept is None else kept.prefix(scan_name)
    tree, chain, written = SumsTree(own), "", 0
    for shard in source.batches.shards():
        chain = blake2b(f"{chain} {shard.digest}".encode(), digest_size=16).hexdigest()
        if found is not None and shard.number < found.shards:
            if shard.number + 1 == found.shards:
                _check_chain(found, chain)
                tree, written = SumsTree.read(own, found.arrays, shards=found.shards), found.shards
            told.skipped(shard)
            continue
        tree.add(_sums_of(shard, source, own, kept, scan_name, told))
        if kept is not None and kept.is_due(last=False):
            kept.keep_prefix(scan_name, Prefix(tree.shards, chain, tree.state()))
            written = tree.shards
    if found is not None and tree.shards < found.shards:
        _refuse(found)
    if kept is not None and written < tree.shards and kept.is_due(last=True):
        kept.keep_prefix(scan_name, Prefix(tree.shards, chain, tree.state()))
    tree.join()


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
    like: ShardSums,
    kept: KeptShards | None,
    scan_name: str,
    told: _Told,
) -> ShardSums:
    """Return the sums of one shard: as another part of the run kept them, or computed."""
    arrays = None if kept is None else kept.shard(scan_name, shard.number, shard.digest)
    if arrays is not None:
        told.skipped(shard)
        return like.read(arrays)
    return _computed(shard, source, like, told)


def _computed(shard: Shard, source: ModelSource | GradientSource, like: ShardSums, told: _Told) -> ShardSums:
    own, part = like.empty(), copy(source)
    assert isinstance(source.batches, ShardedBatches)
    part.batches = source.batches.of(shard)
    if isinstance(part, GradientSource) and own.counts is not None:
        part.counts = own.counts
    scan(part, own.accumulators, progress=told.batch)
    told.end()
    return own


def _scan_part(
    source: ModelSource | GradientSource, like: ShardSums, kept: KeptShards, scan_name: str, told: _Told
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
        _refuse(found)


def _refuse(found: Prefix) -> NoReturn:
    raise InputError(
        f"the first {found.shards:,} shards of the text are not those of the run that was stopped; delete the "
        "folder shards of this run, and run again"
    )
