"""Shards that workers compute in place of this process: what a scan asks of a cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from headscope.encoding.shards import Shard


@dataclass(frozen=True)
class ShardNode:
    """The sums of consecutive shards, which a worker computed and joined as the tree of the scan joins them.

    Attributes:
        numbers: of its shards: one, or all that a level of the tree joins.
        level: of the tree, as `SumsTree.add` takes it.
        arrays: the state of their sums.
    """

    numbers: range
    level: int
    arrays: Mapping[str, NDArray[Any]]


@runtime_checkable
class ShardExecutor(Protocol):
    """Computes the shards of a run's scans, as a cluster does."""

    def nodes(self, stage: str, scan_name: str, shards: Iterator[Shard], *, first: int) -> Iterator[ShardNode]:
        """Yield what shards sum up to, in their order and without gaps; a shard is drawn when a worker is ready for it.

        Args:
            stage: the stage that declares the scan.
            scan_name: which of its scans.
            shards: those to compute.
            first: number of the first of them.
        """
