"""A sample of the rows in which a head is active, drawn by hashes, with the facts that distinguish its jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.row_values import content_rows, non_sink_attention
from headscope.analyses.jobs.row_facts import ACTIVE_ROW, facts_of
from headscope.attention.host_copy import HostCopy
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.hash_sample import SegmentName
from headscope.statistics.sums.head_row_sample import HeadRowSample
from headscope.statistics.sums.kept import Declared, total

ACTIVE = 0.5
"""A head is active in a row that puts more of its attention than this on non-sink keys."""
MOST_KEPT, FEWEST_KEPT = 2048, 128
_ROWS_OF_ALL = 1 << 18


def rows_for(layout: Sequence[KindLayout]) -> int:
    """Return how many rows of a head are kept: 2,048, or fewer where more than 128 heads share 262,144 rows.

    All rows take 56 MiB for 128 heads as for 1,024, and up to four times as much while they are sorted.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_KEPT, max(FEWEST_KEPT, _ROWS_OF_ALL // max(1, heads)))


@dataclass(frozen=True)
class ActiveRows:
    """The sample of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: of `ACTIVE_ROW`, by head and hash; `cell` is `layer * heads + head`, and `segment` counts within
            `segments`.
        active: number of rows in which each head is active, `[layer, head]`.
        n_rows: number of rows, without those of special tokens.
        segments: document and index of each segment.
    """

    kind: str
    rows: NDArray[Any]
    active: NDArray[np.int64]
    n_rows: int
    segments: Sequence[SegmentName]


class ActiveRowAccumulator(Accumulator):
    """Keeps the active rows of every head that have the smallest hashes.

    A head is active in a row where the non-sink attention is above 50%. Rows of special
    tokens are left out.

    Args:
        layout: the kinds of attention and their sizes.
        seed: of the hashes.
        most: rows kept of a head; None for as many as `rows_for` says.
    """

    row: ClassVar[np.dtype[Any]] = ACTIVE_ROW
    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "vectors"})
    parameters: ClassVar[tuple[str, ...]] = ("seed", "most")

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int | None = None) -> None:
        self.seed, self.most = seed, rows_for(layout) if most is None else most
        self._tags: Tensor | None = None
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of rows by head, and the counts of rows and of active rows."""
        self._rows = HeadRowSample(self.layout, self.row, seed=self.seed, most=self.most)
        return {
            "active": total("layer", "head", dtype=np.int64),
            "n_rows": total("layer", dtype=np.int64),
            "rows": self._rows,
        }

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's active rows."""
        content = content_rows(tile)
        active = (non_sink_attention(tile) > ACTIVE) & content[:, None]
        self.segment_sums.add(tile, active=active.sum(-1), n_rows=content.sum(-1))
        rows = self._rows.select(tile, active)
        if len(rows.at):
            self._rows.hold(tile, rows, facts_of(tile, rows, tags=self._tags))

    def hand_over(self, copy: HostCopy) -> None:
        """Have the rows and counts of the batch copied to the host."""
        super().hand_over(copy)
        self._rows.hand_over(copy)

    def end(self, batch: Batch) -> None:
        """Take the rows and counts of the batch."""
        for kind, layers, (active, number) in self.segment_sums.by_kind("active", "n_rows"):
            self.add_segments(batch, kind, layers, active=active, n_rows=number)
        self._rows.take()

    def compute(self) -> tuple[ActiveRows, ...]:
        """Return the sample of each kind of attention."""
        return tuple(
            ActiveRows(
                kind,
                (sample := self._rows.of_kind(kind)[0]).items,
                self.totals[f"active.{kind}"].copy(),
                int(self.totals[f"n_rows.{kind}"][0]),
                sample.segments,
            )
            for kind in (part.kind for part in self.layout)
        )
