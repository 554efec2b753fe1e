"""How much weight every head puts where each behaviour would, beside uniform attention in the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.behaviours.catalogue import BEHAVIOURS, NAMES
from headscope.analyses.behaviours.key_sets import KeySets
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.confidence import Interval, Scale, mapped, ratio_interval
from headscope.statistics.kept import Declared, State, counted, summed
from headscope.statistics.layer_means import with_layer_means

_SCALES: Mapping[str, Scale] = {"share": "share", "tokens": "positive"}


@dataclass(frozen=True)
class BehaviourResult:
    """Behaviours of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: every head's values, `[layer, head, NAMES]`; NaN where it cannot occur.
        layers: the mean over a layer's heads, `[layer, NAMES]`.
        uniform: what uniform attention over the visible keys gives in the same rows, `[layer, NAMES]`.
        n: rows in which it can occur, `[layer, NAMES]`.
        sums: the weight in each document (or group of documents), `[group, layer, head, NAMES]`.
        rows: how many rows that is of, `[group, layer, NAMES]`.
    """

    kind: str
    heads: Interval
    layers: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]
    sums: NDArray[np.float64]
    rows: NDArray[np.int32]


class BehaviourAccumulator(Accumulator):
    """Sum weights on the keys of each behaviour, over the rows in which it can occur, by group of documents.

    Args:
        layout: the kinds of attention and their sizes.
        delimiters: `Delimiter` of each token id, `[id]`.
        same_ids: whether equal ids are equal tokens; words of saved maps share the id of their first piece.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    merges: ClassVar[str] = "; merge scans of one model only, with one tokeniser"

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
        # One place beyond the heads holds uniform attention.
        sums = {part.kind: summed(part.layers, part.heads + 1, width) for part in self.layout}
        return sums | {f"n_{part.kind}": counted(part.layers, width) for part in self.layout}

    def settings(self) -> State:
        """Return which tokens are delimiters, and whether ids tell tokens."""
        return {"delimiters": self.delimiters, "same_ids": np.array(int(self.same_ids))}

    @classmethod
    def with_settings(
        cls, layout: Sequence[KindLayout], settings: Mapping[str, NDArray[Any]]
    ) -> "BehaviourAccumulator":
        """Make an empty one with the same delimiters."""
        return cls(layout, settings["delimiters"], same_ids=bool(int(settings["same_ids"])))

    def begin(self, batch: Batch | None) -> None:
        """Start a batch."""
        self._sums: dict[tuple[str, int], Tensor] = {}
        self._rows: dict[tuple[str, int], Tensor] = {}
        self._sets: dict[tuple[str, int, int], KeySets] = {}
        # Masks are held, so that their ids stay their own.
        self._even: dict[tuple[str, int, int], tuple[Visibility, Tensor, Tensor]] = {}

    def counted_rows(self, tile: AttentionTile) -> Tensor:
        """Return which of a tile's rows are asked, `[batch, row]` bool: all but padding."""
        return tile.row_valid

    def update(self, tile: AttentionTile) -> None:
        """Add a tile's rows to its segments' sums; what does not depend on the layer is made once a batch."""
        rows = (tile.kind, tile.start, tile.visibility.rows)
        if rows not in self._sets:
            classes = self._classes.to(tile.keys.ids.device)
            self._sets[rows] = KeySets(tile, self.counted_rows(tile), classes, same_ids=self.same_ids)
        own = self._sets[rows]
        mask = (tile.kind, tile.start, id(tile.visibility))
        if mask not in self._even:
            self._even[mask] = (tile.visibility, *own.uniform(tile))
        _, uniform, number = self._even[mask]
        self.add_to_layer(tile, torch.cat([own.sums(tile.weights), uniform[:, None]], dim=1), number)

    def add_to_layer(self, tile: AttentionTile, sums: Tensor, number: Tensor) -> None:
        """Add what a tile's rows come to: of each head and then of uniform attention, and of how many rows it is.

        Args:
            tile: says which layer.
            sums: `[batch, head + 1, NAMES]` float64.
            number: `[batch, NAMES]` int64.
        """
        place = (tile.kind, tile.layer)
        before = place in self._sums
        self._sums[place] = self._sums[place] + sums if before else sums
        self._rows[place] = self._rows[place] + number if before else number

    def end(self, batch: Batch) -> None:
        """Add the batch's sums to its documents: of each kind all layers at once."""
        for part in self.layout:
            places = [(part.kind, layer) for layer in range(part.layers)]
            if places[0] not in self._sums:
                continue
            sums = torch.stack([self._sums[place] for place in places], dim=1).cpu().numpy()
            rows = torch.stack([self._rows[place] for place in places], dim=1).cpu().numpy()
            for document, own, number in zip(batch.info.documents, sums, rows):
                self.sums.add(document, **{part.kind: own, f"n_{part.kind}": number})
        self.begin(None)

    def compute(self) -> tuple[BehaviourResult, ...]:
        """Return each kind's values with their intervals over documents."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, rows = stacked[part.kind], stacked[f"n_{part.kind}"]
            heads, uniform = sums[:, :, :-1], sums[:, :, -1]
            interval = _intervals(with_layer_means(heads), rows[:, :, None])
            number = rows.sum(0, dtype=np.int64)
            level = np.divide(uniform.sum(0), number, out=np.full(number.shape, np.nan), where=number > 0)
            results.append(
                BehaviourResult(
                    kind=part.kind,
                    heads=mapped(interval, lambda ends: ends[:, :-1]),
                    layers=mapped(interval, lambda ends: ends[:, -1]),
                    uniform=level,
                    n=number,
                    sums=heads,
                    rows=rows,
                )
            )
        return tuple(results)


def _intervals(sums: NDArray[np.float64], rows: NDArray[np.int32]) -> Interval:
    """Intervals of `[group, ..., NAMES]`, each on the scale of its unit."""
    found = [np.empty(sums.shape[1:]) for _ in range(3)]
    for unit, scale in _SCALES.items():
        own = np.array([one.unit == unit for one in BEHAVIOURS.values()])
        part = ratio_interval(sums[..., own], rows[..., own], scale=scale)
        for whole, ends in zip(found, (part.value, part.low, part.high), strict=True):
            whole[..., own] = ends
    return Interval(*found)
