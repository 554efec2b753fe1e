"""A model that does not fit its device: other weights are fetched from memory, and from disk, when they are used."""

import weakref
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from headscope.errors import OptionError
from headscope.installing import how_to_install


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
