"""Surface statistics of every head: positions, special tokens, entropy (sections 3.1 to 3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.surface.row_sums import row_selections, surface_row_counts, surface_sums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.confidence import Interval, Scale, mapped, ratio_interval
from headscope.statistics.kept import Declared, counted, summed
from headscope.statistics.statistic_catalogue import STATISTICS, Unit

_SCALES: Mapping[Unit, Scale] = {Unit.SHARE: "share", Unit.NATS: "positive"}


@dataclass(frozen=True)
class SurfaceResult:
    """Surface statistics of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: every head's values, `[layer, head, STATISTICS]`.
        layers: the mean over a layer's heads, `[layer, STATISTICS]`.
        uniform: what uniform attention over the visible keys gives, `[layer, STATISTICS]`.
        n: segments that have such rows, `[layer, STATISTICS]`; 0 where it cannot occur.
    """

    kind: str
    heads: Interval
    layers: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]


class SurfaceAccumulator(Accumulator):
    """Sum the surface statistics of every head by group of documents.

    A statistic is the mean over a segment's rows, then over the segments that have such a row.

    Args:
        layout: the kinds of attention and their sizes.
    """

    def __init__(self, layout: Sequence[KindLayout]) -> None:
        super().__init__(layout)
        self._open: dict[str, list[Tensor | None]] = {}
        self._counts: dict[str, Tensor] = {}

    def declare(self) -> Declared:
        """Keep each kind's sums of segment means, and how many segments each is of."""
        width = len(STATISTICS)
        # One place beyond the heads holds uniform attention.
        sums = {part.kind: summed(part.layers, part.heads + 1, width) for part in self.layout}
        return sums | {f"n_{part.kind}": counted(width) for part in self.layout}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._open = {part.kind: [None] * part.layers for part in self.layout}
        self._counts = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        selections = row_selections(tile.row_classes, tile.row_valid)
        rows = torch.cat([tile.statistics.double(), tile.visibility.uniform], dim=1)
        sums = surface_sums(rows, selections)
        before = self._open[tile.kind][tile.layer]
        self._open[tile.kind][tile.layer] = sums if before is None else before + sums
        if tile.kind not in self._counts:
            self._counts[tile.kind] = surface_row_counts(tile.queries.lengths, tile.queries.rows_per_class)

    def end(self, batch: Batch) -> None:
        """Turn the batch's row sums into segment means and add them to their documents."""
        for kind, layers in self._open.items():
            if kind not in self._counts:
                continue
            rows = self._counts[kind].cpu().numpy()
            table = torch.stack([layer for layer in layers if layer is not None], dim=1).cpu().numpy()
            means = table / np.maximum(rows, 1)[:, None, None, :]
            for document, mean, number in zip(batch.info.documents, means, rows):
                self.sums.add(document, **{kind: mean, f"n_{kind}": (number > 0).astype(np.int32)})
        self._open = {}

    def compute(self) -> tuple[SurfaceResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, counts = stacked[part.kind], stacked[f"n_{part.kind}"]
            heads, uniform = sums[:, :, :-1], sums[:, :, -1]
            # What uniform attention never does cannot occur at all: next under a causal mask, [SEP] in GPT-2.
            possible = uniform.sum(0) > 0
            number = np.where(possible, counts.sum(0), 0)
            everything = np.concatenate([heads, heads.mean(2, keepdims=True)], axis=2)
            # A value that cannot occur is null, whatever was summed.
            shown = np.where(possible[:, None, :], everything, np.nan)
            interval = _intervals(shown, counts[:, None, None, :])
            with np.errstate(invalid="ignore", divide="ignore"):
                level = np.where(possible, uniform.sum(0) / counts.sum(0), np.nan)
            results.append(
                SurfaceResult(
                    kind=part.kind,
                    heads=mapped(interval, lambda ends: ends[:, :-1]),
                    layers=mapped(interval, lambda ends: ends[:, -1]),
                    uniform=level,
                    n=number.astype(np.int64),
                )
            )
        return tuple(results)


def _intervals(sums: NDArray[np.float64], counts: NDArray[np.int32]) -> Interval:
    """Intervals of `[group, ..., STATISTICS]`, each on the scale of its unit."""
    found = [np.empty(sums.shape[1:]) for _ in range(3)]
    for unit, scale in _SCALES.items():
        own = np.array([one.unit is unit for one in STATISTICS.values()])
        part = ratio_interval(sums[..., own], counts[..., own], scale=scale)
        for whole, ends in zip(found, (part.value, part.low, part.high), strict=True):
            whole[..., own] = ends
    return Interval(*found)
