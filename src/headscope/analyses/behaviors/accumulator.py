"""The weight that every head puts on the keys of each behavior, beside uniform attention in the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.catalog import BEHAVIORS, NAMES
from headscope.analyses.behaviors.key_sets import KeySets, UniformBaseline
from headscope.analyses.behaviors.key_sums import KeySums, key_sums
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Interval, Scale, mapped, ratio_interval
from headscope.statistics.measures import WEIGHT
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import with_layer_means
from headscope.statistics.sums.kept import Declared, counted, summed
from headscope.statistics.sums.segment_means import SegmentSums

_SCALES: Mapping[str, Scale] = {"share": "share", "tokens": "positive"}


@dataclass(frozen=True)
class BehaviorResult:
    """Behaviors of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        measure: of `measures.MEASURES`.
        heads: every head's values, `[layer, head, NAMES]`; NaN where it cannot occur.
        layers: the mean over a layer's heads, `[layer, NAMES]`.
        uniform: what uniform attention over the visible keys gives in the rows in which it can occur, `[layer, NAMES]`.
        n: rows, `[layer, head + 1, NAMES]`, the most of any head behind them.
        sums: the measure in each document (or group of documents), `[group, layer, head, NAMES]`.
        rows: how many rows that is of, as `sums`; one head stands for all where it is the same for all.
    """

    kind: str
    measure: str
    heads: Interval
    layers: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]
    sums: NDArray[np.float64]
    rows: NDArray[np.int32]


class BehaviorAccumulator(Accumulator):
    """Sum weights on the keys of each behavior, over the rows in which it can occur, by group of documents.

    Args:
        layout: the kinds of attention and their sizes.
        delimiters: `Delimiter` of each token id, `[id]`.
        same_ids: whether equal ids are equal tokens; words of saved maps share the id of their first piece.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    parameters: ClassVar[tuple[str, ...]] = ("delimiters", "same_ids")
    merges: ClassVar[str] = "; merge scans of one model only, with one tokenizer"

    def __init__(
        self, layout: Sequence[KindLayout], delimiters: NDArray[np.uint8], *, same_ids: bool = True
    ) -> None:
        self.delimiters, self.same_ids = np.asarray(delimiters, dtype=np.uint8), same_ids
        self._classes = torch.from_numpy(self.delimiters.astype(np.int64))
        super().__init__(layout)
        self.begin(None)

    def declare(self) -> Declared:
        """Keep each kind's sums of weights, and the number of rows that they are of."""
        width = len(NAMES)
        return {"weight": summed("layer", "head+1", width), "n_rows": counted("layer", width)}

    def begin(self, batch: Batch | None) -> None:
        """Start a batch."""
        self.segment_sums = SegmentSums()
        self._sets: dict[tuple[str, int, int], KeySets] = {}
        # Masks are kept with the baselines, so that no other object gets the id of one.
        self._uniform_baselines: dict[tuple[str, int, int], tuple[Visibility, UniformBaseline]] = {}

    def counted_rows(self, tile: AttentionTile) -> Tensor:
        """Return which of a tile's rows are counted, `[batch, row]` bool: all but padding."""
        return tile.row_valid

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums; what does not depend on the layer is computed once a batch."""
        sets, baseline = self.key_sets(tile)
        self.add_sums(tile, baseline, key_sums(sets, tile.weights))

    def key_sets(self, tile: AttentionTile) -> tuple[KeySets, UniformBaseline]:
        """Return the keys of every behavior for a tile's rows, and the baseline of uniform attention over them."""
        rows = (tile.kind, tile.start, tile.visibility.rows)
        if rows not in self._sets:
            classes = self._classes.to(tile.keys.ids.device)
            self._sets[rows] = KeySets(tile, self.counted_rows(tile), classes, same_ids=self.same_ids)
        mask = (tile.kind, tile.start, id(tile.visibility))
        if mask not in self._uniform_baselines:
            self._uniform_baselines[mask] = (tile.visibility, self._sets[rows].uniform_baseline(tile))
        return self._sets[rows], self._uniform_baselines[mask][1]

    def add_sums(self, tile: AttentionTile, baseline: UniformBaseline, sums: KeySums) -> None:
        """Add the sums of the weights over a tile's rows."""
        self.add_to_layer(tile, torch.cat([sums.weight, baseline.sums[:, None]], dim=1), baseline.number)

    def add_to_layer(self, tile: AttentionTile, sums: Tensor, number: Tensor) -> None:
        """Add sums over a tile's rows, of each head and then of uniform attention, and the number of these rows.

        Args:
            tile: of the layer that the sums are of.
            sums: `[batch, head + 1, NAMES]` float64.
            number: `[batch, NAMES]` int64.
        """
        self.segment_sums.add(tile, weight=sums, rows=number)

    def end(self, batch: Batch) -> None:
        """Add the batch's sums to its documents."""
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("weight", "rows"):
            self.add_segments(batch, kind, layers, weight=sums, n_rows=rows)
        self.begin(None)

    def compute(self) -> tuple[BehaviorResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        return tuple(
            result_of(
                part.kind,
                WEIGHT,
                stacked[f"weight.{part.kind}"][:, :, :-1],
                stacked[f"n_rows.{part.kind}"][:, :, None],
                uniform=self.uniform(part.kind, stacked),
            )
            for part in self.layout
        )

    def uniform(self, kind: str, stacked: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return what uniform attention gives in the rows in which each behavior can occur, `[layer, NAMES]`."""
        sums = stacked[f"weight.{kind}"][:, :, -1].sum(0)
        number = stacked[f"n_rows.{kind}"].sum(0, dtype=np.int64)
        level: NDArray[np.float64] = np.full(number.shape, np.nan)
        np.divide(sums, number, out=level, where=number > 0)
        return level


def result_of(
    kind: str,
    measure: str,
    sums: NDArray[np.float64],
    rows: NDArray[np.int32],
    *,
    uniform: NDArray[np.float64],
) -> BehaviorResult:
    """Compute the means of one kind of attention, with their intervals over documents.

    Args:
        kind: `encoder`, `decoder` or `cross`.
        measure: what the sums are of.
        sums: `[group, layer, head, NAMES]`.
        rows: how many rows they are of, as `sums`; one head stands for all where it is the same for all.
        uniform: what uniform attention gives in the same rows, `[layer, NAMES]`.
    """
    same_rows = rows.shape[2] == 1
    interval = _intervals(with_layer_means(sums), rows if same_rows else with_layer_means(rows))
    number = rows.sum(0, dtype=np.int64)
    if not same_rows:
        number = np.concatenate([number, number.max(1, keepdims=True)], axis=1)
    return BehaviorResult(
        kind=kind,
        measure=measure,
        heads=mapped(interval, lambda ends: ends[:, :-1]),
        layers=mapped(interval, lambda ends: ends[:, -1]),
        uniform=uniform,
        n=np.broadcast_to(number, interval.value.shape),
        sums=sums,
        rows=rows,
    )


def _intervals(sums: NDArray[np.float64], rows: NDArray[Any]) -> Interval:
    """Return intervals of sums by group, `[group, ..., NAMES]`, each on the scale of its unit."""
    ends = [np.empty(sums.shape[1:]) for _ in range(3)]
    for unit, scale in _SCALES.items():
        in_unit = np.array([behavior.unit == unit for behavior in BEHAVIORS.values()])
        part = ratio_interval(sums[..., in_unit], rows[..., in_unit], scale=scale)
        for whole, part_ends in zip(ends, (part.value, part.low, part.high), strict=True):
            whole[..., in_unit] = part_ends
    return Interval(*ends)
