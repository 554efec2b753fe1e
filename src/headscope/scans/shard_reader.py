"""The sums of one stage in a scan by shards: joined as they arrive, kept on disk, and read back."""

from headscope.encoding.shards import Shard
from headscope.scans.shard_chain import EMPTY, extend_chain, refuse_other_shards
from headscope.scans.shard_checkpoint import Prefix, ShardCheckpoint
from headscope.scans.shard_sums import ShardSums, SumsTree


class ShardReader:
    """Take the shards of a scan in order, and decide for each whether it must be computed.

    Several stages may read one scan, each with its own reader, because they may have kept different shards.

    Args:
        sums: sums that receive the total at the end.
        checkpoint: checkpoint where shards are kept; None keeps none.
        scan_name: name of the scan within its stage.

    Attributes:
        sums: the argument `sums`.
        seconds: seconds that the scan spent on this stage, including its share of work that several stages share.
    """

    def __init__(self, sums: ShardSums, checkpoint: ShardCheckpoint | None, scan_name: str) -> None:
        self.sums, self.seconds = sums, 0.0
        self._checkpoint, self._name = checkpoint, scan_name
        self._prefix: Prefix | None = None
        if checkpoint is not None and checkpoint.part is None:
            self._prefix = checkpoint.prefix(scan_name)
        self._tree, self._chain, self._written = SumsTree(sums), EMPTY, 0

    def lacks(self, shard: Shard) -> bool:
        """Return True if the next shard must be computed for this stage; sums found on disk are added.

        Raises:
            InputError: the shards are not those of the stopped run.
        """
        checkpoint = self._checkpoint
        if checkpoint is not None and checkpoint.part is not None:
            in_part = checkpoint.part.has(shard.number)
            return in_part and checkpoint.shard(self._name, shard.number, shard.digest) is None
        self._chain = extend_chain(self._chain, shard)
        if self._prefix is not None and shard.number < self._prefix.shards:
            if shard.number + 1 == self._prefix.shards:
                if self._chain != self._prefix.chain:
                    refuse_other_shards(self._prefix.shards)
                self._tree = SumsTree.read(self.sums, self._prefix.arrays, shards=self._prefix.shards)
                self._written = self._prefix.shards
            return False
        # Another part of the run may have kept this shard.
        arrays = None if checkpoint is None else checkpoint.shard(self._name, shard.number, shard.digest)
        if arrays is None:
            return True
        self._join(self.sums.read(arrays))
        return False

    def add(self, shard: Shard, sums: ShardSums) -> None:
        """Add the computed sums of a shard that this stage lacked."""
        if self._checkpoint is not None and self._checkpoint.part is not None:
            self._checkpoint.keep_shard(self._name, shard.number, shard.digest, sums.state())
        else:
            self._join(sums)

    def end(self) -> None:
        """Add everything to the sums; the sums of a part of a run stay empty.

        Raises:
            InputError: there were fewer shards than the stopped run had read.
        """
        if self._prefix is not None and self._tree.shards < self._prefix.shards:
            refuse_other_shards(self._prefix.shards)
        if self._written < self._tree.shards:
            self._keep(last=True)
        self._tree.join()

    def _join(self, sums: ShardSums) -> None:
        self._tree.add(sums)
        self._keep(last=False)

    def _keep(self, *, last: bool) -> None:
        if self._checkpoint is not None and self._checkpoint.is_due(last=last):
            self._checkpoint.keep_prefix(self._name, Prefix(self._tree.shards, self._chain, self._tree.state()))
            self._written = self._tree.shards
