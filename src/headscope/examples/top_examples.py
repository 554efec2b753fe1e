"""The segments in which each head shows a behavior most clearly, found during the scan."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.examples.top_segments import Entry, TopSegments
from headscope.models.anatomy import KindLayout
from headscope.statistics.roles import ROLES, SHOWN
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared

# The statistics that define roles, and the one that shows a head without a role.
TOP_EXAMPLE_STATISTICS = tuple(dict.fromkeys(ROLES[role].example for role in SHOWN))
MOST_KEPT = 3
FEWEST_ROWS = 6
_DECIMALS = 6
_COLUMNS = [int(STATISTICS[name].quantity) for name in TOP_EXAMPLE_STATISTICS]


TopExamples = dict[tuple[int, int, str], tuple[Entry, ...]]
"""The kept segments of one kind of attention: by 0-based (layer, head) and statistic, tuples of (score, document,
segment), the clearest first; nothing if the statistic cannot occur."""


class TopExampleAccumulator(Accumulator):
    """Keep, for each head and statistic, the segments with the highest mean over rows.

    Scores are rounded to 1e-6 and ties broken by document and segment, so that neither order nor batches decide. Memory
    is bounded by the number of heads: the tokens of a segment are kept once, however many heads keep it.

    Args:
        layout: the kinds of attention and their sizes.
        most: number of segments kept for each head and statistic.
        fewest_rows: minimum length: shorter segments do not count, because a mean over two rows is not informative.
    """

    parameters: ClassVar[tuple[str, ...]] = ("most", "fewest_rows")

    def __init__(self, layout: Sequence[KindLayout], *, most: int = MOST_KEPT, fewest_rows: int = FEWEST_ROWS) -> None:
        self.most, self.fewest_rows = most, fewest_rows
        self._rows: dict[str, Tensor] = {}
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep the clearest segments of each head and statistic."""
        self._top_segments = TopSegments(self.layout, statistics=len(_COLUMNS), most=self.most)
        return {"top_examples": self._top_segments}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        # A padding row may hold NaN, and 0 x NaN is NaN: such rows are replaced by 0, not multiplied by it.
        rows = torch.where(tile.row_valid[:, None, :, None], tile.statistics, 0.0)
        self.segment_sums.add(tile, sums=rows.sum(2, dtype=torch.float64))
        self._rows[tile.kind] = tile.queries.on_host.lengths

    def end(self, batch: Batch) -> None:
        """Turn row sums into means, and keep the segments that are among the clearest."""
        for kind, _, (sums,) in self.segment_sums.by_kind("sums"):
            rows = self._rows[kind].numpy()
            scores = (sums[..., _COLUMNS] / rows[:, None, None, None]).round(_DECIMALS)
            # A segment must score above 0; NaN, for a statistic that cannot occur, fails the comparison too.
            good = (
                (scores > 0)
                & (scores >= self._top_segments.least[kind])
                & (rows >= self.fewest_rows)[:, None, None, None]
            )
            for item, layer, head, column in np.argwhere(good).tolist():
                segment = batch.segments[item]
                entry = (-float(scores[item, layer, head, column]), segment.document, segment.index)
                self._top_segments.offer(kind, (layer, head, column), entry, segment)

    def compute(self) -> dict[str, TopExamples]:
        """Return the kept segments of each kind."""
        kept: dict[str, TopExamples] = {}
        for kind, cells in self._top_segments.kept.items():
            kept[kind] = {}
            for (layer, head, column), entries in sorted(cells.items()):
                clearest = tuple((-score, document, segment) for score, document, segment in entries)
                kept[kind][layer, head, TOP_EXAMPLE_STATISTICS[column]] = clearest
        return kept

    @property
    def segments(self) -> Mapping[tuple[str, int], Segment]:
        """The kept segments by document and index: tokens only, neither words nor fields."""
        return self._top_segments.segments
