"""Statistics of attention weights and of norm-weighted attention (Kobayashi et al. 2020)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.stats.accumulator import StatsAccumulator, StatsResult, results_of
from headscope.analyses.stats.row_sums import rows_of_statistics, stats_sums
from headscope.attention.row_statistics import RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.kept import Declared, counted, summed, total
from headscope.statistics.measures import NORM
from headscope.statistics.statistic_catalog import STATISTICS, Rows


class NormStatsAccumulator(StatsAccumulator):
    """Sum the statistics of the weights, and those of `a_ij |f_j|`, each row divided by its sum.

    A row of which a head writes nothing at all has no such shares: it is left out of that head's means, and counted.

    Args:
        layout: the kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"statistics", "written"})

    def __init__(self, layout: Sequence[KindLayout]) -> None:
        super().__init__(layout)
        self._norm_sums: dict[tuple[str, int], tuple[Tensor, Tensor]] = {}

    def declare(self) -> Declared:
        """Keep the sums of norm-weighted attention too; heads differ in how many rows and segments those are of."""
        width, rows = len(STATISTICS), len(Rows)
        declared: Declared = {
            name: kept
            for part in self.layout
            for name, kept in {
                f"norm_{part.kind}": summed(part.layers, part.heads + 1, width),
                f"n_norm_{part.kind}": counted(part.layers, part.heads + 1, rows),
                f"left_out_{part.kind}": total(part.layers, part.heads, dtype=np.int64),
            }.items()
        }
        return {**super().declare(), **declared}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._norm_sums = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        super().update(tile)
        if tile.written is None:
            return
        # Uniform attention behind the heads leaves no row out.
        rows = torch.cat([tile.norm_statistics.double(), tile.visibility.uniform], dim=1)
        kept = ~rows[..., RowQuantity.ENTROPY].isnan()
        selections = self.selections(tile)
        sums = stats_sums(rows.masked_fill_(~kept[..., None], 0.0), selections)
        counts = (kept & tile.row_valid[:, None]).double() @ selections
        before = self._norm_sums.get((tile.kind, tile.layer))
        if before is not None:
            sums, counts = sums + before[0], counts + before[1]
        self._norm_sums[tile.kind, tile.layer] = sums, counts

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        super().end(batch)
        columns = rows_of_statistics()
        for (kind, layer), (sums, numbers) in self._norm_sums.items():
            counts = numbers.cpu().numpy()  # [batch, head, Rows], uniform attention behind the heads
            means = sums.cpu().numpy() / np.maximum(counts, 1)[..., columns]
            index, some = np.array([layer]), (counts > 0).astype(np.int32)
            for document, mean, number in zip(batch.info.documents, means, some, strict=True):
                sums_of_document = {f"norm_{kind}": mean[None], f"n_norm_{kind}": number[None]}
                self.sums.add_at(document, index, **sums_of_document)
            every = counts[:, :, list(Rows).index(Rows.ALL)].sum(0)
            self.totals[f"left_out_{kind}"][layer] += (every[-1] - every[:-1]).astype(np.int64)
        self._norm_sums = {}

    def compute(self) -> tuple[StatsResult, ...]:
        """Return each kind's statistics of weights, then those of norm-weighted attention of the kinds that have it."""
        stacked = self.sums.stacked()
        columns = rows_of_statistics()
        by_norm = []
        for part in self.layout:
            counts = stacked[f"n_norm_{part.kind}"][..., columns]
            if counts.any():
                by_norm.append(results_of(part.kind, stacked[f"norm_{part.kind}"], counts, measure=NORM))
        return (*super().compute(), *by_norm)

    @property
    def left_out(self) -> Mapping[str, NDArray[np.int64]]:
        """How many rows of each head write nothing at all, by kind, `[layer, head]`."""
        return {part.kind: self.totals[f"left_out_{part.kind}"] for part in self.layout}
