"""Shards computed by others: what a scan asks of a cluster, and what a worker of one does when it is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import TileAccumulator
from headscope.encoding.shards import Shard
from headscope.prepare.shard_sums import ShardSums


@dataclass(frozen=True)
class Node:
    """Shards that follow one another, computed elsewhere and joined there as their tree joins them.

    Attributes:
        numbers: of its shards: one, or all that a level of the tree joins.
        level: of the tree, as `SumsTree.add` takes it.
        arrays: the state of their sums.
    """

    numbers: range
    level: int
    arrays: Mapping[str, NDArray[Any]]


@runtime_checkable
class Elsewhere(Protocol):
    """Others that compute the shards of a run's stages."""

    def nodes(self, stage: str, scan_name: str, shards: Iterator[Shard], *, first: int) -> Iterator[Node]:
        """Yield what shards add up to, in their order and without gaps; they are drawn as others are ready for them.

        Args:
            stage: whose scan it is.
            scan_name: which of its scans.
            shards: those to compute.
            first: number of the first of them.
        """


class OneScan:
    """Stands where a run keeps its shards, and gets hold of one scan of a stage in place of scanning.

    Args:
        scan_name: which scan it is.
    """

    def __init__(self, scan_name: str) -> None:
        self.scan_name = scan_name

    def meet(
        self,
        scan_name: str,
        source: ModelSource | GradientSource,
        sums: ShardSums,
        *,
        alike: Sequence[TileAccumulator],
    ) -> None:
        """Be told of a scan that would begin.

        Raises:
            ScanFound: it is the one.
        """
        if scan_name == self.scan_name:
            raise ScanFound(source, sums, alike)


class ScanFound(Exception):
    """Ends a stage at the scan that was looked for.

    Attributes:
        source: the model that it reads with.
        sums: empty, with the scan's options.
        alike: accumulators as if which were fed the scan goes, beside.
    """

    def __init__(
        self, source: ModelSource | GradientSource, sums: ShardSums, alike: Sequence[TileAccumulator]
    ) -> None:
        super().__init__()
        self.source, self.sums, self.alike = source, sums, alike
