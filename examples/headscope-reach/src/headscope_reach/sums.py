"""Sums of how far away each row's strongest key is."""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.attention.tile import AttentionTile
from headscope.statistics.inference.confidence import Interval, ratio_interval
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed


class ReachAccumulator(Accumulator):
    """Sum the distance of every row's strongest key, a mean over rows for each input, by group of documents."""

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})

    def declare(self) -> Declared:
        """Keep the sum of the inputs' means, and how many inputs those are."""
        return {"reach": summed("layer", "head"), "inputs": counted("layer")}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows; queries and keys of cross attention are of two texts, with no distance between them."""
        if tile.kind == "cross":
            return
        query = tile.start + torch.arange(tile.weights.shape[2])
        distance = (tile.weights.argmax(-1) - query).abs().double()
        distance = distance.masked_fill(~tile.row_valid[:, None], 0.0)
        lengths = tile.queries.lengths[:, None].double()
        self.add(tile, reach=distance.sum(-1) / lengths, inputs=tile.start == 0)

    def compute(self) -> dict[str, tuple[Interval, NDArray[np.int64]]]:
        """Return by kind the mean distance with its interval, `[layer, head]`, and the number of inputs, `[layer]`."""
        sums = self.sums.stacked()
        return {
            part.kind: (
                ratio_interval(sums[f"reach.{part.kind}"], sums[f"inputs.{part.kind}"][:, :, None], scale="positive"),
                sums[f"inputs.{part.kind}"].sum(0),
            )
            for part in self.layout
        }
