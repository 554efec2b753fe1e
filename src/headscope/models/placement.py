"""The device on which a model computes, its choice, and where its weights are: on this device, or offloaded.

accelerate offloads a part of a model by leaving an empty shell of its weights behind, on torch's meta device, and a
hook that fills it before each call. The hook is recognized by its attributes, so that accelerate need not be installed.
"""

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import ModelError, OptionError
from headscope.installing import how_to_install


def device_of(model: nn.Module) -> torch.device:
    """Return the device that a model computes on, to which its inputs are sent."""
    hooked = next(iter(_devices(model)), None)
    return next(model.parameters()).device if hooked is None else hooked


def precision_of(model: nn.Module) -> torch.dtype:
    """Return the dtype that a model computes in: the dtype of its first weights that are not quantized."""
    return next(each.dtype for each in model.parameters() if each.is_floating_point())


def weight_bytes(model: nn.Module) -> int:
    """Return the size of a model's weights in bytes."""
    return sum(each.numel() * each.element_size() for each in model.parameters())


def is_offloaded(model: nn.Module) -> bool:
    """Return True if parts of a model are fetched before each call, and released after it."""
    return any(_offloads(part) for part in model.modules())


def named_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model's state by name, in the order of their names; offloaded ones are fetched in turn."""
    stored: dict[str, Callable[[], Tensor]] = {}
    for path, part in model.named_modules():
        for hook in _hooks(part):
            kept = getattr(hook, "weights_map", None) if hook.offload else None
            if kept is not None:
                names = [name for name, _ in part.named_parameters(recurse=hook.place_submodules)]
                names += [name for name, _ in part.named_buffers(recurse=hook.place_submodules)]
                stored |= {".".join(filter(None, (path, name))): partial(kept.__getitem__, name) for name in names}
    for name, tensor in sorted(model.state_dict().items()):
        yield name, stored[name]() if tensor.is_meta and name in stored else tensor


def check_placement(model: nn.Module) -> None:
    """Refuse a model whose weights are not loaded, are on several devices, or are split over processes.

    Raises:
        ModelError: the model is refused; tells the user what to do.
    """
    name = type(model).__name__
    if any(hasattr(part, "placements") for part in model.parameters()):  # a DTensor
        raise ModelError(
            f"{name} is split over processes by tensor parallelism, so that each computes a part of the heads; load it "
            "in one process, and where it does not fit, offloaded: device_map with a device and cpu or disk"
        )
    offloading = {id(inner) for part in model.modules() if _offloads(part) for inner in part.parameters()}
    if any(each.is_meta and id(each) not in offloading for each in model.parameters()):
        raise ModelError(
            f"{name} has no numbers: it lies on the meta device, as a model made to be filled later does; load its "
            "weights with from_pretrained"
        )
    places = [*_devices(model), *(each.device for each in model.parameters() if not each.is_meta)]
    devices = sorted({"cpu" if each.type == "cpu" else f"{each.type}:{each.index or 0}" for each in places})
    if len(devices) > 1:
        raise ModelError(
            f"{name} computes on {', '.join(devices)}; expected one device: load it with a device_map of one of them "
            "and of cpu or disk, from which weights are fetched, or in bfloat16 or quantized where it does not fit"
        )


def _hooks(part: nn.Module) -> list[Any]:
    """Return accelerate's hooks of a module."""
    hook = getattr(part, "_hf_hook", None)
    return [each for each in getattr(hook, "hooks", (hook,)) if hasattr(each, "execution_device")]


def _offloads(part: nn.Module) -> bool:
    return any(hook.offload for hook in _hooks(part))


def _devices(model: nn.Module) -> Iterator[torch.device]:
    """Yield the devices to which hooks move weights and inputs."""
    for part in model.modules():
        for hook in _hooks(part):
            if hook.execution_device is not None:
                yield torch.device(hook.execution_device)


def choose_device(device: str) -> torch.device:
    """Turn an option into a torch device.

    Raises:
        OptionError: this machine does not have the device.
    """
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        # Not a Mac's GPU, which lacks float64: attention is summed in float64 on the device.
        return torch.device("cpu")
    if device.partition(":")[0] == "mps":
        raise OptionError(
            "--device mps has no float64, in which attention is summed; choose cpu, which a Mac computes on by default"
        )
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(
            f"--device {device!r} is not there ({str(error).splitlines()[0]}); choose auto, cpu, cuda or cuda:0 ..."
        ) from error
    return chosen


class Offloading:
    """Settings with which transformers and accelerate place a model on one device, and offload the rest.

    Copies of weights that are not read from the checkpoint itself, such as those in another precision, are in a
    temporary folder for as long as the model exists.

    Args:
        device: device of the computation.

    Raises:
        OptionError: accelerate is not installed.
    """

    def __init__(self, device: torch.device) -> None:
        if find_spec("accelerate") is None:
            raise OptionError(f"--device-map needs accelerate; {how_to_install('large')}")
        from accelerate.utils import get_max_memory

        here = device.type if device.type == "cpu" else device.index or 0
        self._folder = TemporaryDirectory(prefix="headscope-offloaded-")
        self.options: dict[str, Any] = {
            "device_map": "auto",
            "max_memory": {name: size for name, size in get_max_memory().items() if name in (here, "cpu")},
            "offload_folder": self._folder.name,
        }

    def keep_for(self, model: nn.Module) -> None:
        """Keep the temporary folder until the model is gone."""
        weakref.finalize(model, self._folder.cleanup)
