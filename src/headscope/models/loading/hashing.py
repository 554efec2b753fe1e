"""Hashes of weights and configuration, which show that two models are the same."""

import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import islice
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from headscope.models.loading.load_model import LoadedModel
from headscope.models.placement import named_weights

_AT_ONCE = 8  # tensors; those of a large model take some 100 MB each
# Settings of a configuration about its origin, its names, and task heads, which attention does not depend on.
_WITHOUT_EFFECT = frozenset(
    {
        *("_name_or_path", "architectures", "auto_map", "transformers_version", "dtype", "torch_dtype"),
        *("use_cache", "output_attentions", "output_hidden_states", "return_dict", "gradient_checkpointing"),
        *("id2label", "label2id", "problem_type", "tie_word_embeddings"),
    }
)


def weights_hash(loaded: LoadedModel) -> str:
    """Hash a model's weights: BLAKE2b over names, shapes, types and bytes, 32 hex digits.

    Weights that the checkpoint lacks are random in every run and are left out.
    """
    return tensors_hash(each for each in named_weights(loaded.model) if each[0] not in loaded.untrained)


def tensors_hash(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Hash tensors, in the given order: BLAKE2b of names, shapes, types and bytes, 32 hex digits.

    Tensors are hashed in parallel, since 140 GB take minutes, but only a few at a time, since some may have to be
    fetched from disk.
    """
    digest, remaining = blake2b(digest_size=16), iter(tensors)
    with ThreadPoolExecutor() as pool:
        while several := list(islice(remaining, _AT_ONCE)):
            for line in pool.map(_line, several):
                digest.update(line)
    return digest.hexdigest()


def _line(named: tuple[str, torch.Tensor]) -> bytes:
    """Return a tensor's name, shape and type, and the hash of its bytes."""
    name, tensor = named
    parts, how = _parts(tensor.detach())
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return f"{name} {tuple(tensor.shape)} {tensor.dtype}{how} {digest.hexdigest()}\n".encode()


def _parts(tensor: Any) -> tuple[list[torch.Tensor], str]:
    """Return the plain tensors that a tensor consists of, and how they are combined.

    These are the tensor itself, or the numbers and scales of a quantized one, which may also quantize activations.
    """
    if not is_traceable_wrapper_subclass(tensor):
        return [tensor], ""
    names, how = tensor.__tensor_flatten__()
    inner = [_parts(getattr(tensor, name)) for name in sorted(names)]
    together = " ".join([re.sub(r" at 0x[0-9a-f]+", "", repr(how)), *(part[1] for part in inner)])
    return [each for part in inner for each in part[0]], f" {together}"


def configuration_hash(loaded: LoadedModel) -> str:
    """Hash a model's configuration, 32 hex digits: how weights are cut into heads, and how positions are encoded.

    Models with the same weights attend differently if these settings differ, for example the number of heads.
    """
    settings = _with_effect(loaded.model.config.to_dict())
    content = json.dumps(settings, sort_keys=True, default=str)
    return blake2b(content.encode(), digest_size=16).hexdigest()


def _with_effect(settings: Any) -> Any:
    """Return settings, including nested ones, without those that attention does not depend on."""
    if not isinstance(settings, Mapping):
        return settings
    return {str(name): _with_effect(value) for name, value in settings.items() if name not in _WITHOUT_EFFECT}
