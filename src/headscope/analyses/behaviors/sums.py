"""Accumulators of the attention to the keys of each behavior: by weight and norm-weighted (Kobayashi et al. 2020)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import BEHAVIORS, NAMES
from headscope.analyses.behaviors.key_sums import KeySets, UniformBaseline, key_sums
from headscope.attention.host_copy import SegmentSums
from headscope.attention.row_statistics import Visibility
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Scale
from headscope.statistics.inference.derived import HeadMeans
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed, total
from headscope.statistics.tables.frames import NORM, WEIGHT

Made = TypeVar("Made")
_SCALES: list[Scale] = ["share" if behavior.unit == "share" else "positive" for behavior in BEHAVIORS.values()]


class BehaviorAccumulator(Accumulator):
    """Sum weights on the keys of each behavior, over the rows in which it can occur, by group of documents.

    Args:
        layout: kinds of attention and their sizes.
        delimiters: `Delimiter` of each token id, `[id]`.
        same_ids: True if equal ids are equal tokens; words of saved maps share the id of their first piece.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    parameters: ClassVar[tuple[str, ...]] = ("delimiters", "same_ids")
    merges: ClassVar[str] = "; merge scans of one model only, with one tokenizer"

    def __init__(self, layout: Sequence[KindLayout], delimiters: NDArray[np.uint8], *, same_ids: bool = True) -> None:
        self.delimiters, self.same_ids = np.asarray(delimiters, dtype=np.uint8), same_ids
        self._classes = torch.from_numpy(self.delimiters.astype(np.int64))
        super().__init__(layout)
        self.begin(None)

    def declare(self) -> Declared:
        """Declare the sums of weights of each kind, and the numbers of rows."""
        width = len(NAMES)
        return {"weight": summed("layer", "head+1", width), "n_rows": counted("layer", width)}

    def begin(self, batch: Batch | None) -> None:
        """Start a batch."""
        self.segment_sums = SegmentSums()
        self._sets: dict[tuple[str, int, int], KeySets] = {}
        self._by_mask: dict[tuple[str, int, int], tuple[Visibility, Any]] = {}

    def counted_rows(self, tile: AttentionTile) -> NDArray[np.bool_]:
        """Return a mask of the tile's rows that are counted, `[batch, row]`: all but padding."""
        return tile.queries.on_host.valid[:, tile.rows].numpy()

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums; quantities shared by layers are computed once per batch."""
        sets, baseline = self.key_sets(tile)
        sums = key_sums(sets, tile.weights).weight
        self.segment_sums.add(tile, weight=torch.cat([sums, baseline.sums[:, None]], dim=1), rows=baseline.number)

    def key_sets(self, tile: AttentionTile) -> tuple[KeySets, UniformBaseline]:
        """Return the keys of every behavior for a tile's rows, and the baseline of uniform attention over them."""
        rows = (tile.kind, tile.start, tile.visibility.rows)
        if rows not in self._sets:
            classes = sent(self._classes, tile.keys.ids.device)
            self._sets[rows] = KeySets(tile, self.counted_rows(tile), classes, same_ids=self.same_ids)
        return self._sets[rows], self.once_a_mask(self._sets[rows].uniform_baseline, tile)

    def once_a_mask(self, compute: Callable[[AttentionTile], Made], tile: AttentionTile) -> Made:
        """Return a function of a tile's tokens and mask, computed once in a batch for all layers with this mask.

        Args:
            compute: function; all calls of an accumulator have the same one.
            tile: tile of a layer.
        """
        mask = (tile.kind, tile.start, id(tile.visibility))
        if mask not in self._by_mask:
            # The mask is kept as well, so that no other object can get its id.
            self._by_mask[mask] = (tile.visibility, compute(tile))
        made: Made = self._by_mask[mask][1]
        return made

    def end(self, batch: Batch) -> None:
        """Add the batch's sums to its documents."""
        for kind, layers, (sums, rows) in self.segment_sums.by_kind("weight", "rows"):
            self.add_segments(batch, kind, layers, weight=sums, n_rows=rows)
        self.begin(None)

    def compute(self) -> tuple[HeadMeans, ...]:
        """Compute each kind's values with their intervals over documents."""
        return tuple(self.means_of(kind, WEIGHT) for kind in self._kinds)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return tuple(part.kind for part in self.layout)

    def means_of(self, kind: str, measure: str) -> HeadMeans:
        """Compute the means of one kind of attention, with their intervals over documents.

        Args:
            kind: `encoder`, `decoder` or `cross`.
            measure: `WEIGHT`, with the same rows for every head, or `NORM`, for norm-weighted attention.
        """
        stacked = self.sums.stacked()
        sums, rows = stacked[f"weight.{kind}"], stacked[f"n_rows.{kind}"]
        number = rows.sum(0, dtype=np.int64)
        uniform: NDArray[np.float64] = np.full(number.shape, np.nan)
        np.divide(sums[:, :, -1].sum(0), number, out=uniform, where=number > 0)
        sides = (sums[:, :, :-1], rows[:, :, None])
        if measure == NORM:
            sides = (stacked[f"norm.{kind}"], stacked[f"n_norm.{kind}"])
        return HeadMeans.of(kind, measure, *sides, uniform=uniform, scales=_SCALES)


class NormBehaviorAccumulator(BehaviorAccumulator):
    """Sum the weights on the keys of each behavior, and those of `a_ij |f_j|`, each row divided by its sum.

    A row without any output of a head has no such shares: it is left out of that head's means, and counted.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "written"})

    def declare(self) -> Declared:
        """Declare the sums of norm-weighted attention as well; their numbers of rows differ between heads."""
        width = len(NAMES)
        return {
            **super().declare(),
            "norm": summed("layer", "head", width),
            "n_norm": counted("layer", "head", width),
            "left_out": total("layer", "head", dtype=np.int64),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        if tile.written is None:
            super().update(tile)
            return
        sets, baseline = self.key_sets(tile)
        sums = key_sums(sets, tile.weights, tile.written.lengths)
        assert sums.norm is not None
        assert sums.empty_rows is not None
        weight = torch.cat([sums.weight, baseline.sums[:, None]], dim=1)
        number = baseline.number[:, None] - (sums.empty_rows.double() @ baseline.occurs.double()).long()
        self.segment_sums.add(tile, weight=weight, rows=baseline.number)
        self.segment_sums.add(tile, norm=sums.norm, norm_rows=number, left_out=sums.empty_rows.sum(-1))

    def end(self, batch: Batch) -> None:
        """Add the batch's sums to its documents."""
        for kind, layers, (sums, rows, empty) in self.segment_sums.by_kind("norm", "norm_rows", "left_out"):
            self.add_segments(batch, kind, layers, norm=sums, n_norm=rows, left_out=empty)
        super().end(batch)

    def compute(self) -> tuple[HeadMeans, ...]:
        """Compute each kind's values by weights, then those by norm-weighted attention for the kinds that have it."""
        stacked = self.sums.stacked()
        by_norm = (self.means_of(kind, NORM) for kind in self._kinds if stacked[f"n_norm.{kind}"].any())
        return *super().compute(), *by_norm

    @property
    def left_out(self) -> Mapping[str, NDArray[np.int64]]:
        """The number of rows without any output of each head, by kind, `[layer, head]`."""
        return {kind: self.totals[f"left_out.{kind}"] for kind in self._kinds}

    @property
    def unknown(self) -> tuple[str, ...]:
        """The kinds of attention that have rows but no norm-weighted attention."""
        stacked = self.sums.stacked()
        return tuple(
            kind
            for kind, left_out in self.left_out.items()
            if stacked[f"n_rows.{kind}"].any() and not stacked[f"n_norm.{kind}"].any() and not left_out.any()
        )
