"""The documents that a model with random weights reads: enough for an interval, not the whole corpus."""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from headscope.encoding.segment import Segment
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import GROUPS, group_of

CONTROL_GROUPS = 64
"""Number of groups for controls. Intervals use at most 256 groups of documents; a quarter makes them twice as wide."""

Sums = TypeVar("Sums", bound=Accumulator)


@dataclass(frozen=True)
class ControlDocuments:
    """The documents that controls read: about 64, or 64 of the 256 groups of documents; all if there are fewer.

    Attributes:
        documents: number of documents in the corpus.
    """

    documents: int

    def segments(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield the inputs from these documents."""
        return (segment for segment in segments if self._has(group_of(segment.document)))

    def paired(self, trained: Sums, control: Sums) -> Sums:
        """Return the trained model's sums by document, restricted to the documents that a control read.

        Args:
            trained: sums over the whole corpus.
            control: sums over these documents; they are folded into groups if the trained model's are.
        """
        if trained.sums.folded:
            control.sums.fold()
        same = copy(trained)
        same.sums = trained.sums.subset(self._has)
        return same

    def _has(self, group: int) -> bool:
        return group * min(self.documents, GROUPS) < CONTROL_GROUPS * GROUPS
