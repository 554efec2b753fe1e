"""Weights and configuration as hashes: what says that two models are the same."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import torch

from headscope.models.loading.load_model import LoadedModel

# What a configuration says of where it came from, how it is called, and of heads for tasks; attention does not depend
# on it.
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
    trained = {name: t for name, t in loaded.model.state_dict().items() if name not in loaded.untrained}
    return tensors_hash(trained)


def tensors_hash(tensors: Mapping[str, torch.Tensor]) -> str:
    """Hash named tensors in any order: BLAKE2b over names, shapes, types and bytes, 32 hex digits."""
    digest = blake2b(digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def configuration_hash(loaded: LoadedModel) -> str:
    """Hash a model's configuration, 32 hex digits: how weights are cut into heads, and how positions are encoded.

    Models of the same weights attend otherwise where these differ, as with another number of heads.
    """
    settings = _with_effect(loaded.model.config.to_dict())
    content = json.dumps(settings, sort_keys=True, default=str)
    return blake2b(content.encode(), digest_size=16).hexdigest()


def _with_effect(settings: Any) -> Any:
    """Return settings, nested ones too, without those that attention does not depend on."""
    if not isinstance(settings, Mapping):
        return settings
    return {str(name): _with_effect(value) for name, value in settings.items() if name not in _WITHOUT_EFFECT}
