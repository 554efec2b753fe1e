"""The control of a trained model: the same architecture with random weights, but the same embeddings."""

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

    Any behavior of the heads of such a model comes from positions, token identities and chance alone.

    Args:
        model: a transformers model; it is not changed, and shares nothing with the new one.
        seed: seed of the initializer; torch's own random state does not change.
    """
    cls: Any = type(model)
    config: Any = model.config
    device = device_of(model)
    dtype = precision_of(model)
    # Made on the final device and in its precision: 7 billion parameters in single precision take 28 GB.
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
    """Set torch's default dtype while the block runs."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def is_embedding(name: str, module: nn.Module) -> bool:
    """Return True if a module is part of the embeddings: a table of them, or their norm; never inside a layer."""
    path = name.split(".")
    if any(part.isdigit() for part in path) or not any(_EMBEDDING.search(part) for part in path):
        return False
    kind = type(module).__name__
    return isinstance(module, nn.Embedding) or "Norm" in kind or kind.endswith("Embedding")
