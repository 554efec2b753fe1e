"""Accumulate statistics of attention weights and of norm-weighted attention (Kobayashi et al. 2020)."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.stats.accumulator import StatsAccumulator, means_of
from headscope.analyses.stats.row_sums import rows_of_statistics, stats_sums
from headscope.attention.row_quantities import RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.measures import NORM
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.kept import Declared, counted, summed, total
from headscope.statistics.sums.segment_means import segment_means


class NormStatsAccumulator(StatsAccumulator):
    """Sum the statistics of the weights, and those of `a_ij |f_j|`, each row divided by its sum.

    A row without any output of a head has no such shares: it is left out of that head's means, and counted.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"statistics", "written"})

    def declare(self) -> Declared:
        """Declare the sums of norm-weighted attention as well; their numbers of rows and segments differ by head."""
        width, rows = len(STATISTICS), len(Rows)
        return {
            **super().declare(),
            "norm": summed("layer", "head+1", width),
            "n_norm": counted("layer", "head+1", rows),
            "left_out": total("layer", "head", dtype=np.int64),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        super().update(tile)
        if tile.written is None:
            return
        # Uniform attention, after the heads, leaves no row out.
        rows = torch.cat([tile.norm_statistics.double(), tile.visibility.uniform], dim=1)
        kept = ~rows[..., RowQuantity.ENTROPY].isnan()
        selections = self.selections(tile)
        sums = stats_sums(rows.masked_fill_(~kept[..., None], 0.0), selections)
        counts = (kept & tile.row_valid[:, None]).double() @ selections
        self.segment_sums.add(tile, norm=sums, norm_rows=counts)

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        super().end(batch)
        columns = rows_of_statistics()
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("norm", "norm_rows"):
            means, _ = segment_means(sums, rows[..., columns])
            # Uniform attention, the last head, leaves no row out.
            every = rows[..., list(Rows).index(Rows.ALL)]
            left_out = every[..., -1:] - every[..., :-1]
            self.add_segments(batch, kind, layers, norm=means, n_norm=rows > 0, left_out=left_out)

    def compute(self) -> tuple[HeadMeans, ...]:
        """Compute each kind's statistics by weight, then those by norm for the kinds that have norms."""
        stacked = self.sums.stacked()
        columns = rows_of_statistics()
        by_norm = []
        for part in self.layout:
            counts = stacked[f"n_norm.{part.kind}"][..., columns]
            if counts.any():
                by_norm.append(means_of(part.kind, stacked[f"norm.{part.kind}"], counts, measure=NORM))
        return (*super().compute(), *by_norm)

    @property
    def left_out(self) -> Mapping[str, NDArray[np.int64]]:
        """The number of rows without any output of each head, by kind, `[layer, head]`."""
        return {part.kind: self.totals[f"left_out.{part.kind}"] for part in self.layout}
