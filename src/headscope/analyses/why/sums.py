"""Sums by document: of the pulls of heads with the part of each source, and of what changes by path patching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.why.patching import PatchTile
from headscope.analyses.why.pulls import KEYS, SIDES, sources_of
from headscope.analyses.why.source import PullTile
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.kept import Declared, counted, summed


@dataclass(frozen=True)
class PullSums:
    """The sums of one kind of attention, by group of documents.

    Attributes:
        accounts: part of each source in the pull, nats, `[group, layer, head, KEYS, SIDES, source]`.
        inputs: number of inputs with a row, `[group, layer, KEYS]`.
    """

    accounts: NDArray[np.float64]
    inputs: NDArray[np.int32]

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The pull of each head, nats, `[group, layer, head, KEYS]`."""
        totals: NDArray[np.float64] = self.accounts[..., SIDES.index("key"), :].sum(-1)
        return totals


class PullAccumulator(Accumulator):
    """Sum the pull of every head and the part of each source, by group of documents.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"pulls"})
    span: ClassVar[Span] = "layer"

    def declare(self) -> Declared:
        """Declare sums over inputs, and numbers of inputs; the order of sources is that of `sources_of`."""
        number = len(sources_of(self.layout))
        return {
            "account": summed("layer", "head", len(KEYS), len(SIDES), number),
            "n_inputs": counted("layer", len(KEYS)),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the pulls of a layer's heads on an input."""
        if isinstance(tile, PullTile):
            self.add(tile, account=tile.accounts, n_inputs=tile.has_rows)

    def compute(self) -> dict[str, PullSums]:
        """Return the sums of each kind."""
        stacked = self.sums.stacked()
        return {
            part.kind: PullSums(stacked[f"account.{part.kind}"], stacked[f"n_inputs.{part.kind}"])
            for part in self.layout
        }


@dataclass(frozen=True)
class PatchSums:
    """The sums of one kind of attention after path patching, by group of documents.

    Attributes:
        moved: attention moved by the replacement of each chosen source, `[group, layer, head, SIDES, chosen]`.
        n_moved: number of inputs in which it was replaced, of the same shape.
        pairs: part of pairs of chosen sources in the pull off the sink, nats, `[group, layer, head, chosen, chosen]`.
        pulls: pull off the sink in these inputs, nats, `[group, layer, head]`.
        n_inputs: number of inputs, `[group, layer]`.
    """

    moved: NDArray[np.float64]
    n_moved: NDArray[np.int32]
    pairs: NDArray[np.float64]
    pulls: NDArray[np.float64]
    n_inputs: NDArray[np.int32]


class PatchAccumulator(Accumulator):
    """Sum the attention moved by the replacement of each chosen source, and the parts of their pairs.

    Args:
        layout: kinds of attention and their sizes.
        most: largest number of sources of a head on one side.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"patches"})
    span: ClassVar[Span] = "layer"
    parameters: ClassVar[tuple[str, ...]] = ("most",)

    def __init__(self, layout: Sequence[KindLayout] | None = None, *, most: int) -> None:
        self.most = int(most)
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare sums over inputs, and numbers of inputs."""
        sides = ("layer", "head", len(SIDES), self.most)
        return {
            "moved": summed(*sides),
            "n_moved": counted(*sides),
            "pairs": summed("layer", "head", self.most, self.most),
            "pulls": summed("layer", "head"),
            "n_inputs": counted("layer"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the changes of a layer's heads on an input."""
        if isinstance(tile, PatchTile):
            self.add(
                tile,
                moved=tile.moved.nan_to_num(0.0),
                n_moved=tile.moved.isfinite(),
                pairs=tile.pairs.nan_to_num(0.0),
                pulls=tile.pull,
                n_inputs=1,
            )

    def compute(self) -> dict[str, PatchSums]:
        """Return the sums of each kind."""
        stacked = self.sums.stacked()
        names = ("moved", "n_moved", "pairs", "pulls", "n_inputs")
        return {part.kind: PatchSums(*(stacked[f"{name}.{part.kind}"] for name in names)) for part in self.layout}
