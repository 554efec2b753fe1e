"""A scan whose shards others compute: they are handed out in their order, and what comes back is joined in one tree."""

from collections.abc import Iterator
from itertools import islice

from headscope.encoding.shards import Shard
from headscope.prepare.scan_progress import ScanProgress
from headscope.prepare.shard_chain import EMPTY, extend_chain, refuse_other_shards
from headscope.prepare.shard_checkpoint import Prefix, ShardCheckpoint
from headscope.prepare.shard_sums import ShardSums, SumsTree


def scan_elsewhere(
    shards: Iterator[Shard], sums: ShardSums, kept: ShardCheckpoint, scan_name: str, told: ScanProgress
) -> None:
    """Have the shards of a scan computed by `kept.elsewhere`, and join what they add up to.

    Args:
        shards: of the scan, in their order.
        sums: get all of it in the end.
        kept: where what came is kept, and who computes.
        scan_name: which scan of its stage it is.
        told: of progress.

    Raises:
        InputError: the first shards are not those of the run that was stopped.
    """
    assert kept.elsewhere is not None
    found = kept.prefix(scan_name)
    walk, tree = _Walk(shards, found, told), SumsTree(sums)
    if found is not None:
        walk.skip_found()
        tree = SumsTree.read(sums, found.arrays, shards=found.shards)
    written = tree.shards
    sizes: dict[int, tuple[int, int]] = {}

    def counted() -> Iterator[Shard]:
        for shard in walk:
            sizes[shard.number] = (len(shard.segments), sum(map(len, shard.segments)))
            yield shard

    for node in kept.elsewhere.nodes(kept.stage, scan_name, counted(), first=walk.number):
        told.add([sizes.pop(number) for number in node.numbers])
        tree.add(sums.read(node.arrays), level=node.level)
        if kept.is_due(last=False):
            kept.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
            written = tree.shards
    if written < tree.shards and kept.is_due(last=True):
        kept.keep_prefix(scan_name, Prefix(tree.shards, walk.chain(tree.shards), tree.state()))
    tree.join()


class _Walk:
    """The shards of a scan in their order, with a hash over those that have come."""

    def __init__(self, shards: Iterator[Shard], found: Prefix | None, told: ScanProgress) -> None:
        self.shards, self.found, self.told = shards, found, told
        self.number, self._chains = 0, {0: EMPTY}

    def __iter__(self) -> Iterator[Shard]:
        for shard in self.shards:
            before = self._chains[self.number]
            self.number = shard.number + 1
            self._chains[self.number] = extend_chain(before, shard)
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
            self.told.skip(shard)
        if self.number != found.shards or self.chain(found.shards) != found.chain:
            refuse_other_shards(found.shards)
