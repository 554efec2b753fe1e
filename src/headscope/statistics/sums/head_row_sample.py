"""A seeded sample of the rows of every head of a model, which fills itself from tiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.hash_sample import SAMPLED, HashSample, Sampled, smallest_hashes
from headscope.statistics.sums.row_hashes import keys_of_batch, row_hashes

HEAD_ROW = (*SAMPLED, ("row", np.int32))
"""The fields with which the dtype of a head's row begins: those of any item, and its position in its segment."""
CANDIDATE = np.dtype([*HEAD_ROW, ("head", np.int32), ("at", np.int32)])
"""A row of a tile that may enter the sample: `segment` is its index in the batch, `at` its index among the tile's
rows."""


class HeadRowSample(HashSample):
    """Keep, of each head or of each cell of a head, the rows with the smallest hashes (a store of an accumulator).

        candidates = sample.candidates(tile, mask)
        facts = sample.empty_facts(candidates)
        facts["weight"] = ...  # of the candidates alone
        sample.take(facts, tile)

    Args:
        layout: the kinds of attention and their sizes.
        dtype: of a row: the fields of `HEAD_ROW`, and the facts that are kept of it.
        seed: of the hashes.
        most: number of rows kept of each cell.
        cells: number of cells of a head by axis, such as bins of a value; a head is one cell by default.
    """

    def __init__(
        self,
        layout: Sequence[KindLayout],
        dtype: DTypeLike,
        *,
        seed: int,
        most: int,
        cells: tuple[int, ...] = (),
    ) -> None:
        self.seed = seed
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._first: dict[str, int] = {}
        number = 0
        for part in layout:
            self._shapes[part.kind] = (part.layers, part.heads, *cells)
            self._first[part.kind] = number
            number += int(np.prod(self._shapes[part.kind]))
        super().__init__(dtype, most=most, cells=number)

    def candidates(
        self, tile: AttentionTile, rows: NDArray[np.bool_], within: NDArray[np.int64] | int = 0
    ) -> NDArray[Any]:
        """Return the rows of a tile that may enter the sample, at most `most` of a cell.

        Args:
            tile: the tile.
            rows: which rows are drawn from, `[batch, head, row]`.
            within: the cell of each row among those of its head, `[batch, head, row]`.

        Returns:
            Of `CANDIDATE`, by cell and hash.
        """
        heads, *cells = self._shapes[tile.kind][1:]
        each_head = int(np.prod(cells, dtype=np.int64))
        first = self._first[tile.kind] + tile.layer * heads * each_head
        cell = first + np.arange(heads)[:, None] * each_head + within
        keys = keys_of_batch(tile.queries.documents, tile.queries.indices, seed=self.seed)
        positions = tile.queries.positions[:, tile.rows].cpu().numpy()
        hashes = row_hashes(keys, positions, kind=tile.kind, layer=tile.layer, heads=heads)
        segment, head, at = np.nonzero(rows & (hashes < self.least[cell]))
        candidates = np.zeros(len(segment), dtype=CANDIDATE)
        candidates["cell"] = np.broadcast_to(cell, rows.shape)[segment, head, at]
        candidates["hash"] = hashes[segment, head, at]
        candidates["segment"], candidates["head"], candidates["at"] = segment, head, at
        candidates["row"] = positions[segment, at]
        return candidates[smallest_hashes(candidates, most=self.most)]

    def empty_facts(self, candidates: NDArray[Any]) -> NDArray[Any]:
        """Return items for candidates, of which only the fields of `HEAD_ROW` are filled in."""
        facts = np.zeros(len(candidates), dtype=self.dtype)
        for name, _ in HEAD_ROW:
            facts[name] = candidates[name]
        return facts

    def take(self, facts: NDArray[Any], tile: AttentionTile) -> None:
        """Add candidates of a tile with all their facts."""
        self.offer(facts, list(zip(tile.queries.documents, tile.queries.indices, strict=True)))

    def of_kind(self, kind: str) -> tuple[Sampled, tuple[NDArray[np.int64], ...]]:
        """Return the rows of a kind of attention, and the layer, head and further indices of the cell of each.

        Their `cell` counts from the first of the kind.
        """
        sampled, first, shape = self.sampled(), self._first[kind], self._shapes[kind]
        cells = sampled.items["cell"]
        rows = sampled.items[(cells >= first) & (cells < first + np.prod(shape))]
        rows["cell"] -= first
        return Sampled(rows, sampled.segments), np.unravel_index(rows["cell"], shape)
