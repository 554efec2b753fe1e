"""A scan shard by shard: sums made for each by itself and joined in one tree, kept on disk as it goes."""

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from headscope.attention.gradients import GradientSource
from headscope.attention.model_source import ModelSource, TileSource
from headscope.attention.scan import ScanCounts, scan
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.errors import InputError
from headscope.prepare.elsewhere import OneScan
from headscope.prepare.kept_shards import KeptShards, Prefix
from headscope.prepare.shard_sums import ShardSums, SumsTree
from headscope.statistics.accumulator import Accumulator

Telling = Callable[[ScanCounts], None]


def scan_shards(
    source: TileSource,
    accumulators: Sequence[Accumulator],
    *,
    kept: KeptShards | OneScan | None = None,
    scan_name: str = "trained",
    progress: Telling | None = None,
) -> None:
    """Feed every tile of a source to every accumulator, as `scan` does, but by shards.

    The same digits come out whether shards are kept, found again, or were computed elsewhere. Where the run is one part
    of several only its own shards are computed and kept, and the accumulators stay empty, as they do where the run is a
    worker that looks for one scan.

    Args:
        source: a model over sharded inputs; any other is scanned as a whole.
        accumulators: updated in place.
        kept: where shards are kept; None keeps none.
        scan_name: which scan of its stage it is, in letters, digits and `-`.
        progress: called after each batch, and after each shard that was found.

    Raises:
        AttentionError: as `scan`.
        InputError: the inputs are not those of the run that was stopped.
        ScanFound: it is the scan that a worker looks for.
    """
    if not isinstance(source, ModelSource | GradientSource) or not isinstance(source.batches, ShardedBatches):
        scan(source, accumulators, progress=progress)
        return
    own = ShardSums.of(source, accumulators)
    if isinstance(kept, OneScan):
        kept.meet(scan_name, source, own)
        return
    told = _Told(progress)
    if kept is not None and kept.part is not None:
        _scan_part(source, own, kept, scan_name, told)
        return
    found = None if kept is None else kept.prefix(scan_name)
    walk = _Walk(source.batches.shards(), found, told)
    tree = SumsTree(own)
    if found is not None:
        walk.skip_found()
        tree = SumsTree.read(own, found.arrays, shards=found.shards)
    written = tree.shards
    for node in _nodes(walk, source, own, kept, scan_name, told):
        tree.add(node.sums, level=node.level)
        if kept is not None and kept.is_due(last=False):
            kept.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
            written = tree.shards
    if kept is not None and written < tree.shards and kept.is_due(last=True):
        kept.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
    tree.join()


class _Walk:
    """The shards of a scan in their order, with a hash over those that have come."""

    def __init__(self, shards: Iterator[Shard], found: Prefix | None, told: "_Told") -> None:
        self.shards, self.found, self.told = shards, found, told
        self.number, self._chains = 0, {0: ""}

    def __iter__(self) -> Iterator[Shard]:
        for shard in self.shards:
            before = self._chains[self.number]
            self.number = shard.number + 1
            self._chains[self.number] = blake2b(
                f"{before} {shard.digest}".encode(), digest_size=16
            ).hexdigest()
            yield shard

    def chain(self, shards: int) -> str:
        """Return the hash over so many shards; those of fewer are not asked for again."""
        self._chains = {number: chain for number, chain in self._chains.items() if number >= shards}
        return self._chains[shards]

    def skip_found(self) -> None:
        """Go through the shards that were kept of an earlier run.

        Raises:
            InputError: they are others now.
        """
        found = self.found
        assert found is not None
        for shard in islice(self, found.shards):
            self.told.skipped(shard)
        if self.number != found.shards or self.chain(found.shards) != found.chain:
            raise InputError(
                f"the first {found.shards:,} shards of the text are not those of the run that was stopped; delete the "
                "folder shards of this run, and run again"
            )


@dataclass(frozen=True)
class _Computed:
    """What one shard adds up to, or, at a higher level of the tree, several."""

    sums: ShardSums
    level: int = 0


def _nodes(
    walk: _Walk,
    source: ModelSource | GradientSource,
    like: ShardSums,
    kept: KeptShards | None,
    scan_name: str,
    told: "_Told",
) -> Iterator[_Computed]:
    """Yield what the shards that are left add up to, in their order: computed here, or elsewhere."""
    if kept is None or kept.elsewhere is None:
        for shard in walk:
            yield _Computed(_sums_of(shard, source, like, kept, scan_name, told))
        return
    sizes: dict[int, tuple[int, int]] = {}

    def counted() -> Iterator[Shard]:
        for shard in walk:
            sizes[shard.number] = (len(shard.segments), sum(map(len, shard.segments)))
            yield shard

    for node in kept.elsewhere.nodes(kept.stage, scan_name, counted(), first=walk.number):
        told.came([sizes.pop(number) for number in node.numbers])
        yield _Computed(like.read(node.arrays), node.level)


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
        self.came([(len(shard.segments), sum(map(len, shard.segments)))])

    def came(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Tell of shards that others computed: the inputs and tokens of each."""
        segments, tokens = map(sum, zip(*sizes, strict=True))
        self.batch(ScanCounts(segments, tokens, 0.0))
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


def compute_shard(shard: Shard, source: ModelSource | GradientSource, like: ShardSums) -> ShardSums:
    """Return what one shard adds up to.

    Args:
        shard: its inputs.
        source: the model that reads them, over sharded inputs of the same run.
        like: sums with the scan's options.
    """
    return _computed(shard, source, like, _Told(None))


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
        # What is passed over is not made into inputs, where that can be helped.
        if not kept.part.has(shard.number) or kept.shard(scan_name, shard.number, shard.digest) is not None:
            continue
        made = _computed(shard, source, like, told)
        kept.keep_shard(scan_name, shard.number, shard.digest, made.state())
