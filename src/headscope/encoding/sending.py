"""Tensors on their way to the device."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def sent(tensor: "Tensor", device: "torch.device") -> "Tensor":
    """Return a tensor of the host on a device, without waiting for what that computes.

    Args:
        tensor: on the host.
        device: where it goes.
    """
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # from other memory a copy waits
    return tensor.to(device, non_blocking=True)
