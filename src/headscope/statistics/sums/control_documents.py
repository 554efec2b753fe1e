"""Which documents a model with random weights reads: enough for an interval, not the whole corpus."""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from headscope.encoding.segment import Segment
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import GROUPS, group_of

CONTROL_GROUPS = 64
"""Intervals are over at most 256 groups of documents; those of a control, over a quarter of them, are twice as wide."""

Sums = TypeVar("Sums", bound=Accumulator)


@dataclass(frozen=True)
class ControlDocuments:
    """The documents that controls read: about 64, or 64 of the 256 groups of documents; all where there are fewer.

    Attributes:
        documents: in the corpus.
    """

    documents: int

    def segments(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield the inputs that are of these documents."""
        return (segment for segment in segments if self._has(group_of(segment.document)))

    def paired(self, trained: Sums, control: Sums) -> Sums:
        """Return the trained model's sums by document over the documents that a control read.

        Args:
            trained: over the whole corpus.
            control: over these documents; where the trained model's sums are of groups, its become so too.
        """
        if trained.sums.folded:
            control.sums.fold()
        same = copy(trained)
        same.sums = trained.sums.subset(self._has)
        return same

    def _has(self, group: int) -> bool:
        return group * min(self.documents, GROUPS) < CONTROL_GROUPS * GROUPS
