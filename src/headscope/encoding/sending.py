"""Copying of tensors to the device."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def sent(tensor: "Tensor", device: "torch.device") -> "Tensor":
    """Return a host tensor on a device, without waiting for the device's computations.

    Args:
        tensor: tensor on the host.
        device: target device.
    """
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # a copy from unpinned memory would wait
    return tensor.to(device, non_blocking=True)
