"""Sums of the pulls of heads and of the shares of their sources, by document."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.why.pulls import KEYS, SIDES, sources_of
from headscope.analyses.why.source import PullTile
from headscope.attention.tile import AttentionTile
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed


class PullAccumulator(Accumulator):
    """Sum the pull of every head and the part of each source, by group of documents.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"pulls"})

    def declare(self) -> Declared:
        """Declare sums over inputs, and numbers of inputs; the order of sources is that of `sources_of`."""
        number = len(sources_of(self.layout))
        return {
            "account": summed("layer", "head", len(KEYS), len(SIDES), number),
            "n_inputs": counted("layer", len(KEYS)),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the pulls of a layer's heads on an input."""
        assert isinstance(tile, PullTile)
        pulls = tile.pulls
        self.add(tile, account=pulls.accounts[None], n_inputs=np.array([pulls.has_rows]))

    def compute(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.int32]]]:
        """Return the sums of each kind by group of documents.

        Returns:
            By kind, parts of the pull `[group, layer, head, KEYS, SIDES, source]` and numbers of inputs
            `[group, layer, KEYS]`.
        """
        stacked = self.sums.stacked()
        return {part.kind: (stacked[f"account.{part.kind}"], stacked[f"n_inputs.{part.kind}"]) for part in self.layout}
