"""The interface of executors: workers, such as a cluster's, that compute shards in place of this process."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from headscope.encoding.shards import Shard


@dataclass(frozen=True)
class ShardNode:
    """The sums of consecutive shards, which a worker computed and joined in the order of the scan's tree.

    Attributes:
        numbers: numbers of its shards: one, or all that a level of the tree joins.
        level: level in the tree, as in `SumsTree.add`.
        arrays: state of their sums.
    """

    numbers: range
    level: int
    arrays: Mapping[str, NDArray[Any]]


@runtime_checkable
class ShardExecutor(Protocol):
    """An executor that computes the shards of a run's scans, such as a cluster."""

    def nodes(self, stage: str, scan_name: str, shards: Iterator[Shard], *, first: int) -> Iterator[ShardNode]:
        """Yield the sums of shards in order and without gaps; a shard is drawn when a worker is ready for it.

        Args:
            stage: name of the stage that declares the scan.
            scan_name: name of the scan within the stage.
            shards: shards to compute.
            first: number of the first shard.
        """
