"""A scan whose shards an executor computes: they are distributed in order, and their sums are joined in one tree."""

from collections.abc import Iterator
from itertools import islice

from headscope.encoding.shards import Shard
from headscope.scans.scan_progress import ScanProgress
from headscope.scans.shard_chain import EMPTY, extend_chain, refuse_other_shards
from headscope.scans.shard_checkpoint import Prefix, ShardCheckpoint
from headscope.scans.shard_executor import ShardExecutor
from headscope.scans.shard_sums import ShardSums, SumsTree


def scan_with_executor(
    shards: Iterator[Shard],
    sums: ShardSums,
    executor: ShardExecutor,
    checkpoint: ShardCheckpoint,
    scan_name: str,
    progress: ScanProgress,
) -> None:
    """Compute the shards of a scan on an executor, and join their sums.

    Args:
        shards: shards of the scan, in order.
        sums: sums that receive the total at the end.
        executor: executor that computes the shards.
        checkpoint: checkpoint where sums are kept as they arrive; it knows the stage.
        scan_name: name of the scan within its stage.
        progress: progress that receives the counts as they arrive.

    Raises:
        InputError: the first shards are not those of the stopped run.
    """
    prefix = checkpoint.prefix(scan_name)
    walk, tree = _Walk(shards), SumsTree(sums)
    if prefix is not None:
        walk.skip(prefix, progress)
        tree = SumsTree.read(sums, prefix.arrays, shards=prefix.shards)
    written = tree.shards
    sizes: dict[int, tuple[int, int]] = {}

    def counted() -> Iterator[Shard]:
        for shard in walk:
            sizes[shard.number] = (len(shard.segments), sum(map(len, shard.segments)))
            yield shard

    for node in executor.nodes(checkpoint.stage, scan_name, counted(), first=walk.number):
        progress.add([sizes.pop(number) for number in node.numbers])
        tree.add(sums.read(node.arrays), level=node.level)
        if checkpoint.is_due(last=False):
            checkpoint.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
            written = tree.shards
    if written < tree.shards and checkpoint.is_due(last=True):
        checkpoint.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
    tree.join()


class _Walk:
    """The shards of a scan in order, with a hash chain over those drawn so far."""

    def __init__(self, shards: Iterator[Shard]) -> None:
        self.shards = shards
        self.number, self._chains = 0, {0: EMPTY}

    def __iter__(self) -> Iterator[Shard]:
        for shard in self.shards:
            before = self._chains[self.number]
            self.number = shard.number + 1
            self._chains[self.number] = extend_chain(before, shard)
            yield shard

    def chain(self, shards: int) -> str:
        """Return the hash chain over the first `shards` shards; shorter chains are dropped."""
        self._chains = {number: chain for number, chain in self._chains.items() if number >= shards}
        return self._chains[shards]

    def skip(self, prefix: Prefix, progress: ScanProgress) -> None:
        """Skip the shards that an earlier run has kept.

        Raises:
            InputError: the shards have changed.
        """
        for shard in islice(self, prefix.shards):
            progress.skip(shard)
        if self.number != prefix.shards or self.chain(prefix.shards) != prefix.chain:
            refuse_other_shards(prefix.shards)
