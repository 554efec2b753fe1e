"""Sums over the rows of each segment of a batch, and the means computed from them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.tile import AttentionTile

LayerSums = tuple[str, list[int], tuple[NDArray[Any], ...]]
"""A kind of attention, some of its layers, and arrays `[batch, layer, ...]`."""


class SegmentSums:
    """Named sums over the rows of each segment of a batch, for every layer, collected tile by tile.

    A segment may span several tiles, and values computed from its sums, such as a mean over rows, need all of them. An
    accumulator has one `SegmentSums` (`Accumulator.segment_sums`), empty at the beginning of each batch:

        def update(self, tile):
            self.segment_sums.add(tile, weight=rows.sum(2), rows=tile.row_valid.sum(1))

        def end(self, batch):
            for kind, layers, (sums, rows) in self.segment_sums.by_kind("weight", "rows"):
                mean, number = segment_means(sums, rows[:, :, None])
                self.add_segments(batch, kind, layers, weight=mean, n_weight=number)
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[int, Tensor]] = {}
        self._copied: dict[tuple[str, str], OnHost] = {}

    def add(self, tile: AttentionTile, **sums: Tensor) -> None:
        """Add sums over a tile's rows, `[batch, ...]` each, to the sums of its layer."""
        for name, value in sums.items():
            layers = self._sums.setdefault((name, tile.kind), {})
            before = layers.get(tile.layer)
            layers[tile.layer] = value if before is None else before + value

    def hand_over(self, copy: HostCopy) -> None:
        """Queue the sums for the copy to the host; layers are stacked before, on their device."""
        for key, layers in self._sums.items():
            self._copied[key] = copy.add(torch.stack([layers[layer] for layer in sorted(layers)], dim=1))

    def by_kind(self, *names: str) -> Iterator[LayerSums]:
        """Yield each kind of attention with sums of these names, the layers that have them, and the sums by name."""
        if self._sums and not self._copied:
            copy = HostCopy()
            self.hand_over(copy)
            copy.fetch()
        for first, kind in list(self._sums):
            if first != names[0]:
                continue
            layers = sorted(self._sums[first, kind])
            arrays = []
            for name in names:
                indices = sorted(self._sums[name, kind])
                array = self._copied[name, kind].array
                arrays.append(array if indices == layers else array[:, [indices.index(layer) for layer in layers]])
            yield kind, layers, tuple(arrays)


def segment_means(sums: NDArray[np.float64], rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the mean over the rows of each segment, 0 without rows, and 1 for each segment that has rows.

    Args:
        sums: sums over rows.
        rows: numbers of rows, of a shape that broadcasts to that of the sums.
    """
    return sums / np.maximum(rows, 1), (rows > 0).astype(np.int32)
