"""Accumulate the statistics of every head: positions, special tokens, entropy (sections 3.1 to 3.3)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.stats.row_sums import row_selections, stats_row_counts, stats_sums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Scale
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.measures import WEIGHT
from headscope.statistics.statistic_catalog import STATISTICS, is_share
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed
from headscope.statistics.sums.segment_means import segment_means

_SCALES: list[Scale] = ["share" if is_share(name) else "positive" for name in STATISTICS]


class StatsAccumulator(Accumulator):
    """Sum the statistics of every head by group of documents.

    A statistic is the mean over a segment's rows, then over the segments that have such a row.

    Args:
        layout: kinds of attention and their sizes.
    """

    def __init__(self, layout: Sequence[KindLayout]) -> None:
        super().__init__(layout)
        self._counts: dict[str, Tensor] = {}
        self._selections: dict[tuple[str, int, int], Tensor] = {}

    def declare(self) -> Declared:
        """Declare the sums of segment means of each kind, and the numbers of segments."""
        width = len(STATISTICS)
        return {"weight": summed("layer", "head+1", width), "n_weight": counted("kind", width)}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._counts, self._selections = {}, {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        rows = torch.cat([tile.statistics.double(), tile.visibility.uniform], dim=1)
        self.segment_sums.add(tile, weight=stats_sums(rows, self.selections(tile)))
        if tile.kind not in self._counts:
            queries = tile.queries.on_host
            self._counts[tile.kind] = stats_row_counts(queries.lengths, queries.rows_per_class)

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        for kind, layers, (sums,) in self.segment_sums.by_kind("weight"):
            means, some = segment_means(sums, self._counts[kind].numpy()[:, None, None])
            self.add_segments(batch, kind, layers, weight=means, n_weight=some[:, 0, 0])

    def compute(self) -> tuple[HeadMeans, ...]:
        """Compute each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        return tuple(
            means_of(kind, stacked[f"weight.{kind}"], stacked[f"n_weight.{kind}"][:, None, None], measure=WEIGHT)
            for kind in (part.kind for part in self.layout)
        )

    def selections(self, tile: AttentionTile) -> Tensor:
        """Return the selection of a tile's rows for each kind of mean; cached for layers with the same tiles."""
        key = tile.kind, tile.start, tile.visibility.rows
        if key not in self._selections:
            self._selections[key] = row_selections(tile.row_classes, tile.row_valid)
        return self._selections[key]


def means_of(kind: str, sums: NDArray[np.float64], counts: NDArray[Any], *, measure: str) -> HeadMeans:
    """Compute the statistics of one kind of attention, with their intervals over documents.

    A statistic that is 0 for uniform attention cannot occur (next under a causal mask, [SEP] in GPT-2): its value is
    missing, whatever was summed, and its number of segments is 0.

    Args:
        kind: `encoder`, `decoder` or `cross`.
        sums: sums of segment means, `[group, layer, head, STATISTICS]`, with uniform attention after the heads.
        counts: numbers of segments in the shape of `sums`, with axes of size 1 along which they are the same.
        measure: measure of the sums, by weight or by norm.
    """
    uniform = sums[:, :, -1].sum(0)
    possible = uniform > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        level = np.where(possible, uniform / counts[:, :, -1].sum(0), np.nan)
    means = HeadMeans.of(
        kind,
        measure,
        np.where(possible[:, None], sums[:, :, :-1], np.nan),
        counts[:, :, :-1] if counts.shape[2] > 1 else counts,
        uniform=level,
        scales=_SCALES,
    )
    return replace(means, n=np.where(possible[:, None], means.n, 0))
