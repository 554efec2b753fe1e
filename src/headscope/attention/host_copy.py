"""Sums over the rows of each segment of a batch, and their copy from the device at once: each copy waits for it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.tile import AttentionTile

# Numbers of every type begin at a multiple of this many bytes.
_ALIGNED = 16


class HostCopy:
    """Collect tensors, and copy them to the host together.

    handle = copy.add(sums)  # returns at once
    copy.fetch()  # waits for the device once, for all that was added
    handle.array
    """

    def __init__(self) -> None:
        self._handles: list[OnHost] = []

    def add(self, tensor: Tensor) -> "OnHost":
        """Return a handle of a tensor that will be copied."""
        handle = OnHost(tensor)
        self._handles.append(handle)
        return handle

    def add_layers(self, layers: Mapping[str, Sequence[Tensor]]) -> dict[str, "OnHost"]:
        """Return a handle of each kind's layers, stacked along a new second axis; kinds without layers are left out."""
        return {kind: self.add(torch.stack([*each], dim=1)) for kind, each in layers.items() if each}

    def fetch(self) -> None:
        """Copy all added tensors, and wait for the device."""
        handles, self._handles = self._handles, []
        far = [handle for handle in handles if handle.tensor.device.type != "cpu"]
        for handle in handles:
            if handle.tensor.device.type == "cpu":
                handle.arrive(handle.tensor)
        if far:
            whole = packed([handle.tensor for handle in far]).cpu()
            for handle, part in zip(far, unpacked(whole, [handle.tensor for handle in far]), strict=True):
                handle.arrive(part)


class OnHost:
    """A tensor that is, or will be, copied to the host.

    Args:
        tensor: tensor on the device where it was computed.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self._array: NDArray[Any] | None = None

    def arrive(self, copied: Tensor) -> None:
        """Store the copy."""
        self._array = copied.numpy()

    @property
    def array(self) -> NDArray[Any]:
        """The copy, as an array.

        Raises:
            ValueError: the tensor was not fetched yet.
        """
        if self._array is None:
            raise ValueError("this tensor was not copied to the host yet; expected HostCopy.fetch() before")
        return self._array


def packed(tensors: Sequence[Tensor]) -> Tensor:
    """Return the concatenated bytes of tensors of one device, `[byte]`."""
    parts = []
    for tensor in tensors:
        flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
        parts += [flat, flat.new_zeros(-len(flat) % _ALIGNED)]
    return torch.cat(parts)


def unpacked(whole: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors from the bytes that `packed` returned.

    Args:
        whole: the bytes.
        like: tensors of the same types and shapes.
    """
    parts, start = [], 0
    for tensor in like:
        size = math.prod(tensor.shape) * tensor.element_size()
        parts.append(whole[start : start + size].view(tensor.dtype).view(tensor.shape))
        start += size + -size % _ALIGNED
    return parts


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
