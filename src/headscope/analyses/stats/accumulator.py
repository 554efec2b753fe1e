"""Statistics of every head: positions, special tokens, entropy (sections 3.1 to 3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.stats.row_sums import row_selections, stats_row_counts, stats_sums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Interval, Scale, mapped, ratio_interval
from headscope.statistics.measures import WEIGHT
from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import with_layer_means
from headscope.statistics.sums.kept import Declared, counted, summed
from headscope.statistics.sums.segment_means import segment_means

_SCALES: Mapping[Unit, Scale] = {Unit.SHARE: "share", Unit.NATS: "positive"}


@dataclass(frozen=True)
class StatsResult:
    """Statistics of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        measure: of `measures.MEASURES`.
        heads: every head's values, `[layer, head, STATISTICS]`.
        layers: the mean over a layer's heads, `[layer, STATISTICS]`.
        uniform: what uniform attention over the visible keys gives, `[layer, STATISTICS]`.
        n: segments that have such rows, `[layer, head, STATISTICS]`, the most of any head behind them; 0 where it
            cannot occur.
    """

    kind: str
    measure: str
    heads: Interval
    layers: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]


class StatsAccumulator(Accumulator):
    """Sum the statistics of every head by group of documents.

    A statistic is the mean over a segment's rows, then over the segments that have such a row.

    Args:
        layout: the kinds of attention and their sizes.
    """

    def __init__(self, layout: Sequence[KindLayout]) -> None:
        super().__init__(layout)
        self._counts: dict[str, Tensor] = {}
        self._selections: dict[tuple[str, int, int], Tensor] = {}

    def declare(self) -> Declared:
        """Keep each kind's sums of segment means, and how many segments each is of."""
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
            self._counts[tile.kind] = stats_row_counts(tile.queries.lengths, tile.queries.rows_per_class)

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        for kind, layers, (sums,) in self.segment_sums.by_kind("weight"):
            means, some = segment_means(sums, self._counts[kind].cpu().numpy()[:, None, None])
            self.add_segments(batch, kind, layers, weight=means, n_weight=some[:, 0, 0])

    def compute(self) -> tuple[StatsResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        return tuple(
            results_of(
                kind, stacked[f"weight.{kind}"], stacked[f"n_weight.{kind}"][:, None, None], measure=WEIGHT
            )
            for kind in (part.kind for part in self.layout)
        )

    def selections(self, tile: AttentionTile) -> Tensor:
        """Return which of a tile's rows each kind of mean runs over; layers of a batch with the same tiles share it."""
        key = tile.kind, tile.start, tile.visibility.rows
        if key not in self._selections:
            self._selections[key] = row_selections(tile.row_classes, tile.row_valid)
        return self._selections[key]


def results_of(kind: str, sums: NDArray[np.float64], counts: NDArray[Any], *, measure: str) -> StatsResult:
    """Compute the means of one kind of attention, with their intervals over documents.

    Args:
        kind: `encoder`, `decoder` or `cross`.
        sums: of segment means, `[group, layer, head, STATISTICS]`, uniform attention behind the heads.
        counts: how many segments each is of, as `sums`; axes of size 1 where it is the same along them.
        measure: what the sums are of.
    """
    heads, uniform, of_uniform = sums[:, :, :-1], sums[:, :, -1], counts[:, :, -1].sum(0)
    # A statistic that is 0 of uniform attention cannot occur: next under a causal mask, [SEP] in GPT-2.
    possible = uniform.sum(0) > 0
    # A value that cannot occur is null, whatever was summed.
    values = np.where(possible[:, None, :], with_layer_means(heads), np.nan)
    divisors, number = counts, counts.sum(0)
    if counts.shape[2] > 1:
        divisors, number = with_layer_means(counts[:, :, :-1]), number[:, :-1]
        number = np.concatenate([number, number.max(1, keepdims=True)], axis=1)
    interval = _intervals(values, divisors)
    with np.errstate(invalid="ignore", divide="ignore"):
        level = np.where(possible, uniform.sum(0) / of_uniform, np.nan)
    return StatsResult(
        kind=kind,
        measure=measure,
        heads=mapped(interval, lambda ends: ends[:, :-1]),
        layers=mapped(interval, lambda ends: ends[:, -1]),
        uniform=level,
        n=np.where(possible[:, None], np.broadcast_to(number, values.shape[1:]), 0).astype(np.int64),
    )


def _intervals(sums: NDArray[np.float64], counts: NDArray[Any]) -> Interval:
    """Return intervals of sums by group, `[group, ..., STATISTICS]`, each on the scale of its unit."""
    ends = [np.empty(sums.shape[1:]) for _ in range(3)]
    for unit, scale in _SCALES.items():
        in_unit = np.array([statistic.unit is unit for statistic in STATISTICS.values()])
        part = ratio_interval(sums[..., in_unit], counts[..., in_unit], scale=scale)
        for whole, part_ends in zip(ends, (part.value, part.low, part.high), strict=True):
            whole[..., in_unit] = part_ends
    return Interval(*ends)
