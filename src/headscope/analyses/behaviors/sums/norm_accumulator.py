"""Behaviors by attention weights and by norm-weighted attention (Kobayashi et al. 2020)."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.sums.accumulator import BehaviorAccumulator
from headscope.analyses.behaviors.sums.key_sums import key_sums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.statistics.inference.head_means import HeadMeans
from headscope.statistics.measures import NORM
from headscope.statistics.sums.kept import Declared, counted, summed, total


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
        self.add_sums(tile, baseline, sums)
        assert sums.norm is not None
        assert sums.empty_rows is not None
        self.add_norm_sums(tile, sums.norm, baseline.number_without(sums.empty_rows), sums.empty_rows.sum(-1))

    def add_norm_sums(self, tile: AttentionTile, sums: Tensor, number: Tensor, empty: Tensor) -> None:
        """Add sums of norm-weighted attention over a tile's rows.

        Args:
            tile: tile of the layer.
            sums: `[batch, head, NAMES]` float64.
            number: number of rows in the sums, `[batch, head, NAMES]` int64.
            empty: number of rows without any output of the head, which the sums leave out, `[batch, head]` int64.
        """
        self.segment_sums.add(tile, norm=sums, norm_rows=number, left_out=empty)

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
