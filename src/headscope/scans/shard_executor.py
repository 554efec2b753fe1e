"""The interface of executors: workers, such as a cluster's, that compute shards in place of this process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headscope.encoding.shards import Shard
from headscope.statistics.sums.kept import State


@dataclass(frozen=True)
class ShardJob:
    """A shard of a scan, and the stages for which its sums must be computed.

    Attributes:
        shard: the shard.
        stages: names of the stages that lack its sums; none if every stage has kept them.
    """

    shard: Shard
    stages: tuple[str, ...]


@runtime_checkable
class ShardExecutor(Protocol):
    """An executor that computes the shards of a run's scans, such as a cluster."""

    def compute(self, scan_name: str, jobs: Iterator[ShardJob]) -> Iterator[tuple[ShardJob, Sequence[State]]]:
        """Yield the jobs in order, each with the state of its sums for each of its stages.

        A job is drawn when a worker is ready for it.

        Args:
            scan_name: name of the scan within its stages.
            jobs: shards to compute.
        """
