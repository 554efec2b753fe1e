"""Results of a batch copied from the device at once: each separate copy would wait for the device."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

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
