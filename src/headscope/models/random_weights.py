"""The control of a trained model: the same architecture with random weights, its embeddings kept."""

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from headscope.models.placement import device_of, named_weights, precision_of

_EMBEDDING = re.compile(r"embed|^wte$|^wpe$|^shared$")


def with_random_weights(model: nn.Module, *, seed: int = 0) -> nn.Module:
    """Return a model of the same configuration from its own initializer; embeddings and their norm are copied.

    What the heads of such a model seem to find comes from positions, token identities and chance alone.

    Args:
        model: a transformers model; it is not changed, and shares nothing with the new one.
        seed: of the initializer; torch's own state of randomness is left as it was.
    """
    cls: Any = type(model)
    config: Any = model.config
    device = device_of(model)
    dtype = precision_of(model)
    # Made where it computes and in its precision: one of 7 billion parameters in single precision takes 28 GB.
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), device, _default(dtype):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.default_generators[device.index or 0].manual_seed(seed)
        twin: nn.Module = cls(copy.deepcopy(config))
    twin.to(device=device, dtype=dtype)
    theirs = dict(twin.named_modules())
    with torch.no_grad():
        for name, module in model.named_modules():
            if is_embedding(name, module):
                theirs[name].load_state_dict(dict(named_weights(module)))
    return twin.eval()


@contextmanager
def _default(dtype: torch.dtype) -> Iterator[None]:
    """Make floating tensors of a type, as long as the block lasts."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def is_embedding(name: str, module: nn.Module) -> bool:
    """Whether a module is part of the embeddings: a table of them, or the norm beside it; never within a layer."""
    path = name.split(".")
    if any(part.isdigit() for part in path) or not any(_EMBEDDING.search(part) for part in path):
        return False
    kind = type(module).__name__
    return isinstance(module, nn.Embedding) or "Norm" in kind or kind.endswith("Embedding")
