"""How large a model its configuration makes, known before any memory is taken for it."""

from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import shown
from headscope.models.folder.weight_files import WeightFiles

_SPARE = 1 << 24
"""Numbers that may be missing from any checkpoint: a small model's head, tables of positions."""
_PACKED = 32  # numbers that one of a quantized checkpoint may stand for


def read_config(folder: Path) -> Any:
    """Read a folder's configuration as its family's.

    Raises:
        ModelError: it names a part that is no configuration.
    """
    from transformers import AutoConfig, PreTrainedConfig

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if not isinstance(config.get_text_config(), PreTrainedConfig):
        raise ModelError(
            f"{shown(folder / 'config.json')} names a part for text (text_config ...) that its family does not have; "
            "expected the config.json that was saved with the weights"
        )
    return config


def check_implied(auto: Any, config: Any, folder: Path, weight_files: WeightFiles) -> None:
    """Refuse a configuration that makes a far larger model than the weights beside it.

    transformers makes what a checkpoint lacks, or has in another shape, before it says so. Here the model is made
    without memory, and counted.

    Args:
        auto: one of transformers' auto classes.
        config: the configuration; a model that is kept must not share it.
        folder: the model folder, checked.
        weight_files: what its weights' headers say.

    Raises:
        ModelError: says both numbers.
    """
    import torch

    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = auto.from_config(config, trust_remote_code=False)
    parts = [*model.parameters(), *model.buffers()]
    numbers = sum(part.numel() for part in parts)
    packed = _PACKED if getattr(config, "quantization_config", None) is not None else 1
    # A head may be as large as the embeddings, so twice what is there is no surprise.
    if numbers > 2 * packed * weight_files.numbers + _SPARE:
        raise ModelError(
            f"{shown(folder / 'config.json')} makes a model of {numbers:,} numbers, and the weights beside it hold "
            f"{weight_files.numbers:,}; expected the config.json that was saved with the weights"
        )
