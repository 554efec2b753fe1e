"""Behaviors twice: by the weights, and by what heads write in their place (Kobayashi et al. 2020)."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviors.accumulator import BehaviorAccumulator, BehaviorResult, result_of
from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.key_sums import key_sums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.statistics.kept import Declared, counted, summed, total
from headscope.statistics.measures import NORM


class NormBehaviorAccumulator(BehaviorAccumulator):
    """Sum the weights on the keys of each behavior, and those of `a_ij |f_j|`, each row divided by its sum.

    A row of which a head writes nothing at all has no such shares: it is left out of that head's means, and counted.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "written"})

    def declare(self) -> Declared:
        """Keep the same of what is written: how many rows there are is each head's own."""
        width = len(NAMES)
        own: Declared = {
            name: kept
            for part in self.layout
            for name, kept in {
                f"norm_{part.kind}": summed(part.layers, part.heads, width),
                f"n_norm_{part.kind}": counted(part.layers, part.heads, width),
                f"left_out_{part.kind}": total(part.layers, part.heads, dtype=np.int64),
            }.items()
        }
        return {**super().declare(), **own}

    def begin(self, batch: Batch | None) -> None:
        """Start a batch."""
        super().begin(batch)
        self._written: dict[tuple[str, int], tuple[Tensor, ...]] = {}

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums."""
        if tile.written is None:
            super().update(tile)
            return
        sets, even = self.asked(tile)
        sums = key_sums(sets, tile.weights, tile.written.lengths)
        self.add_sums(tile, even, sums)
        assert sums.norm is not None
        assert sums.nothing is not None
        self.add_written(tile, sums.norm, even.number_without(sums.nothing), sums.nothing.sum(-1))

    def add_written(self, tile: AttentionTile, sums: Tensor, number: Tensor, nothing: Tensor) -> None:
        """Add what a tile's rows come to, of what each head writes.

        Args:
            tile: says which layer.
            sums: `[batch, head, NAMES]` float64.
            number: of how many rows it is, `[batch, head, NAMES]` int64.
            nothing: how many rows more were asked of which nothing at all is written, `[batch, head]` int64.
        """
        own, before = (sums, number, nothing), self._written.get((tile.kind, tile.layer))
        self._written[tile.kind, tile.layer] = (
            own if before is None else tuple(a + b for a, b in zip(before, own, strict=True))
        )

    def end(self, batch: Batch) -> None:
        """Add the batch's sums to its documents."""
        for (kind, layer), (norms, numbers, nothing) in self._written.items():
            sums, rows = norms.cpu().numpy(), numbers.cpu().numpy()
            for document, own, number in zip(batch.info.documents, sums, rows, strict=True):
                place = np.array([layer])
                self.sums.add_at(
                    document, place, **{f"norm_{kind}": own[None], f"n_norm_{kind}": number[None]}
                )
            self.totals[f"left_out_{kind}"][layer] += nothing.sum(0).cpu().numpy()
        super().end(batch)

    def compute(self) -> tuple[BehaviorResult, ...]:
        """Return each kind's values by the weights, then by what is written, where any layer of it knows that."""
        stacked = self.sums.stacked()
        return (
            *super().compute(),
            *(
                result_of(
                    part.kind,
                    NORM,
                    stacked[f"norm_{part.kind}"],
                    stacked[f"n_norm_{part.kind}"],
                    uniform=self.uniform(part.kind, stacked),
                )
                for part in self.layout
                if stacked[f"n_norm_{part.kind}"].any()
            ),
        )

    @property
    def left_out(self) -> Mapping[str, NDArray[np.int64]]:
        """How many rows of each head write nothing at all, by kind, `[layer, head]`."""
        return {part.kind: self.totals[f"left_out_{part.kind}"] for part in self.layout}

    @property
    def unknown(self) -> tuple[str, ...]:
        """The kinds of which rows were read, and of none is it known what is written."""
        stacked = self.sums.stacked()
        return tuple(
            part.kind
            for part in self.layout
            if stacked[f"n_{part.kind}"].any()
            and not stacked[f"n_norm_{part.kind}"].any()
            and not self.totals[f"left_out_{part.kind}"].any()
        )
