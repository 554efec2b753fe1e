"""What one stage has of a scan that goes by shards: its sums, joined as they come, kept, and found again."""

from headscope.encoding.shards import Shard
from headscope.prepare.shard_chain import EMPTY, extend_chain, refuse_other_shards
from headscope.prepare.shard_checkpoint import Prefix, ShardCheckpoint
from headscope.prepare.shard_sums import ShardSums, SumsTree


class ShardReader:
    """Takes the shards of a scan in their order; says of each whether it must be computed.

    Several stages may read one scan, each with a reader of its own: what one has kept is not what another has.

    Args:
        sums: get all of it in the end.
        kept: where shards are kept; None keeps none.
        scan_name: which scan of its stage it is.

    Attributes:
        sums: as given.
        seconds: that the scan spent for this stage; of what several share, its part.
    """

    def __init__(self, sums: ShardSums, kept: ShardCheckpoint | None, scan_name: str) -> None:
        self.sums, self.seconds = sums, 0.0
        self._kept, self._name = kept, scan_name
        self._found = None if kept is None or kept.part is not None else kept.prefix(scan_name)
        self._tree, self._chain, self._written = SumsTree(sums), EMPTY, 0

    def lacks(self, shard: Shard) -> bool:
        """Whether the next shard must be computed for this stage; what was found of it is taken up.

        Raises:
            InputError: the shards are not those of the run that was stopped.
        """
        kept = self._kept
        if kept is not None and kept.part is not None:
            own = kept.part.has(shard.number)
            return own and kept.shard(self._name, shard.number, shard.digest) is None
        self._chain = extend_chain(self._chain, shard)
        if self._found is not None and shard.number < self._found.shards:
            if shard.number + 1 == self._found.shards:
                if self._chain != self._found.chain:
                    refuse_other_shards(self._found.shards)
                self._tree = SumsTree.read(self.sums, self._found.arrays, shards=self._found.shards)
                self._written = self._found.shards
            return False
        # As another part of the run kept it.
        arrays = None if kept is None else kept.shard(self._name, shard.number, shard.digest)
        if arrays is None:
            return True
        self._join(self.sums.read(arrays))
        return False

    def add(self, shard: Shard, sums: ShardSums) -> None:
        """Take what was computed of a shard that it lacked."""
        if self._kept is not None and self._kept.part is not None:
            self._kept.keep_shard(self._name, shard.number, shard.digest, sums.state())
        else:
            self._join(sums)

    def end(self) -> None:
        """Add everything to the sums; those of a part of a run stay empty.

        Raises:
            InputError: there were fewer shards than the run that was stopped had read.
        """
        if self._found is not None and self._tree.shards < self._found.shards:
            refuse_other_shards(self._found.shards)
        if self._written < self._tree.shards:
            self._keep(last=True)
        self._tree.join()

    def _join(self, sums: ShardSums) -> None:
        self._tree.add(sums)
        self._keep(last=False)

    def _keep(self, *, last: bool) -> None:
        if self._kept is not None and self._kept.is_due(last=last):
            self._kept.keep_prefix(self._name, Prefix(self._tree.shards, self._chain, self._tree.state()))
            self._written = self._tree.shards
