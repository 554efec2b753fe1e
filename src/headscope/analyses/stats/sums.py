"""Sums of the statistics of every head (sections 3.1 to 3.3), by weight and norm-weighted (Kobayashi et al. 2020)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.host_copy import segment_means
from headscope.attention.row_quantities import RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Scale
from headscope.statistics.inference.derived import HeadMeans
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS, is_share
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed, total
from headscope.statistics.tables.frames import NORM, WEIGHT

_SCALES: list[Scale] = ["share" if is_share(name) else "positive" for name in STATISTICS]


class StatsAccumulator(Accumulator):
    """Sum the statistics of every head by group of documents.

    A statistic is the mean over a segment's rows, then over the segments that have such a row.

    Args:
        layout: kinds of attention and their sizes.
    """

    def __init__(self, layout: Sequence[KindLayout]) -> None:
        super().__init__(layout)
        self._selections: dict[tuple[str, int, int], Tensor] = {}

    def declare(self) -> Declared:
        """Declare the sums of segment means of each kind, and the numbers of segments."""
        width = len(STATISTICS)
        return {"weight": summed("layer", "head+1", width), "n_weight": counted("kind", width)}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._selections = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        rows, selections = torch.cat([tile.statistics.double(), tile.visibility.uniform], dim=1), self.selections(tile)
        self.segment_sums.add(tile, weight=stats_sums(rows, selections), weight_rows=selections.sum(1))

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("weight", "weight_rows"):
            means, some = segment_means(sums, rows[:, :, None, rows_of_statistics()])
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


@cache
def _columns_and_rows(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return for each statistic the column of its row quantity and the index of its rows; cached by device."""
    columns = torch.tensor([int(statistic.quantity) for statistic in STATISTICS.values()])
    return sent(columns, device), sent(torch.from_numpy(rows_of_statistics().copy()), device)


@cache
def rows_of_statistics() -> NDArray[np.int64]:
    """Return the index in `Rows` of the rows over which each statistic is a mean, `[STATISTICS]`."""
    return np.array([list(Rows).index(statistic.rows) for statistic in STATISTICS.values()])


def row_selections(
    row_classes: Int[Tensor, "batch row"], row_valid: Bool[Tensor, "batch row"]
) -> Float64[Tensor, "batch row selection"]:
    """Return 1 for the rows over which each kind of mean runs, else 0, `[batch, row, Rows]` float64; padding has 0."""
    chosen = []
    for rows in Rows:
        of_class = row_classes == rows.key_class if rows.key_class is not None else row_valid
        chosen.append(row_valid & (of_class if rows.inside else ~of_class))
    return torch.stack(chosen, dim=-1).double()


def stats_sums(
    statistics: Float[Tensor, "batch head row quantity"], selections: Float64[Tensor, "batch row selection"]
) -> Float64[Tensor, "batch head statistic"]:
    """Sum row statistics over rows, `[batch, head, STATISTICS]` float64.

    Args:
        statistics: `[batch, head, row, ROW_STATISTICS]`.
        selections: result of `row_selections`, `[batch, row, Rows]`.
    """
    # A padding row may hold NaN (it sees no key), and 0 x NaN is NaN: such rows are set to 0 first.
    counted = selections[:, None, :, :1] > 0
    rows = torch.where(counted, statistics.double(), 0.0)
    table = rows.transpose(2, 3) @ selections[:, None]
    columns, of_rows = _columns_and_rows(table.device)
    return table[..., columns, of_rows]
