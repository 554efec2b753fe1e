"""A seeded sample of the rows of every head of a model, filled from tiles."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums import row_selection
from headscope.statistics.sums.hash_sample import SAMPLED, HashSample, Sampled, SegmentName
from headscope.statistics.sums.row_selection import (
    SelectedRows,
    hashes_on_device,
    in_signed_order,
    keys_of_batch,
    row_hashes,
    selected_on_device,
    selected_on_host,
)

HEAD_ROW = (*SAMPLED, ("row", np.int32))
"""First fields of the dtype of a head's row: the fields of any sampled item, and the row's position in its segment."""


class HeadRowSample(HashSample):
    """Keep the rows with the smallest hashes of each head, or of each cell of a head (a store of an accumulator).

        rows = sample.select(tile, mask)
        sample.hold(tile, rows, {"weight": ...})  # values of the selected rows only; does not wait for the device
        sample.hand_over(copy)  # at the batch's end
        sample.take()

    Args:
        layout: the kinds of attention and their sizes.
        dtype: dtype of a row: the fields of `HEAD_ROW`, and the values that are kept for it.
        seed: seed of the hashes.
        most: number of rows kept per cell.
        cells: number of cells of a head by axis, such as bins of a value; a head is one cell by default.
    """

    def __init__(
        self, layout: Sequence[KindLayout], dtype: DTypeLike, *, seed: int, most: int, cells: tuple[int, ...] = ()
    ) -> None:
        self.seed = seed
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._first: dict[str, int] = {}
        number = 0
        for part in layout:
            self._shapes[part.kind] = (part.layers, part.heads, *cells)
            self._first[part.kind] = number
            number += int(np.prod(self._shapes[part.kind]))
        self._held: list[tuple[list[SegmentName], NDArray[np.int64], dict[str, Tensor]]] = []
        self._copied: list[tuple[list[SegmentName], NDArray[np.int64], dict[str, OnHost]]] = []
        super().__init__(dtype, most=most, cells=number)

    def select(self, tile: AttentionTile, rows: Tensor, within: Tensor | None = None) -> SelectedRows:
        """Return the rows of a tile that may enter the sample, at most `most` per cell.

        Args:
            tile: the tile.
            rows: mask of the rows to sample from, `[batch, head, row]` bool.
            within: cell of each row among the cells of its head, `[batch, head, row]`; None if a head is one cell.
        """
        heads, *cells = self._shapes[tile.kind][1:]
        each_head = int(np.prod(cells, dtype=np.int64))
        first = self._first[tile.kind] + tile.layer * heads * each_head
        keys = keys_of_batch(tile.queries.documents, tile.queries.indices, seed=self.seed)
        positions = tile.queries.on_host.positions[:, tile.rows].numpy()
        least = self.least[first : first + heads * each_head]
        cell = torch.arange(heads, device=rows.device)[:, None] * each_head
        cell = (cell if within is None else cell + within).expand(rows.shape)
        if not row_selection.waits(rows.device):
            hashes = row_hashes(keys, positions, kind=tile.kind, layer=tile.layer, heads=heads)
            return selected_on_host(rows.numpy(), cell.numpy(), hashes, least, first=first, most=self.most)
        hashes_there = hashes_on_device(
            keys, positions, device=rows.device, kind=tile.kind, layer=tile.layer, heads=heads
        )
        least_there = sent(torch.from_numpy(in_signed_order(least)), rows.device)
        return selected_on_device(
            rows, cell, hashes_there, least_there, first=first, most=self.most, each_head=each_head
        )

    def hold(self, tile: AttentionTile, rows: SelectedRows, facts: Mapping[str, Tensor]) -> None:
        """Keep selected rows on their device until the batch ends.

        Args:
            tile: the tile that the rows belong to.
            rows: the selection that `select` returned.
            facts: values of each row, by field name, `[row, ...]`.
        """
        names = list(zip(tile.queries.documents, tile.queries.indices, strict=True))
        positions = tile.queries.on_host.positions[:, tile.rows].numpy()
        self._held.append((names, positions, {**vars(rows), **facts}))

    def hand_over(self, copy: HostCopy) -> None:
        """Queue the rows for the copy to the host."""
        for names, positions, tensors in self._held:
            self._copied.append((names, positions, {name: copy.add(each) for name, each in tensors.items()}))
        self._held = []

    def take(self) -> None:
        """Offer the copied rows to the sample."""
        for names, positions, handles in self._copied:
            arrays = {name: handle.array for name, handle in handles.items()}
            kept = arrays.pop("kept")
            item, at = (arrays.pop(name)[kept] for name in ("item", "at"))
            del arrays["head"]
            items = np.zeros(len(item), dtype=self.dtype)
            items["segment"], items["row"] = item, positions[item, at]
            items["hash"] = arrays.pop("hash")[kept].view(np.uint64)
            for name, array in arrays.items():
                items[name] = array[kept]
            self.offer(items, names)
        self._copied = []

    def of_kind(self, kind: str) -> tuple[Sampled, tuple[NDArray[np.int64], ...]]:
        """Return the rows of a kind of attention, and the layer, head and further indices of the cell of each.

        Their `cell` is counted from the first cell of the kind.
        """
        sampled, first, shape = self.sampled(), self._first[kind], self._shapes[kind]
        cells = sampled.items["cell"]
        rows = sampled.items[(cells >= first) & (cells < first + np.prod(shape))]
        rows["cell"] -= first
        return Sampled(rows, sampled.segments), np.unravel_index(rows["cell"], shape)
