"""Weights as a hash: what says that two models are the same."""

from collections.abc import Mapping
from hashlib import blake2b

import torch

from headscope.models.loading.load_model import LoadedModel


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
