"""The size of the model that a configuration defines, known before any memory is allocated for it."""

from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import shown
from headscope.models.folder.weight_files import WeightFiles

_SPARE = 1 << 24
"""Numbers that may be missing from any checkpoint: a small model's head, tables of positions."""
_PACKED = 32  # one number of a quantized checkpoint may represent this many


def read_config(folder: Path) -> Any:
    """Read a folder's configuration with the class of its family.

    Raises:
        ModelError: the configuration names a part that is not a configuration.
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
    """Refuse a configuration that defines a far larger model than its folder's weights.

    transformers allocates what a checkpoint lacks, or has in another shape, before it reports it. Here the model is
    built on the meta device, without memory, and its numbers are counted.

    Args:
        auto: one of transformers' auto classes.
        config: the configuration; it must not be shared with a model that is kept.
        folder: the model folder, checked.
        weight_files: summary of the headers of the weight files.

    Raises:
        ModelError: the model is too large; gives both numbers.
    """
    import torch

    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = auto.from_config(config, trust_remote_code=False)
    parts = [*model.parameters(), *model.buffers()]
    numbers = sum(part.numel() for part in parts)
    packed = _PACKED if getattr(config, "quantization_config", None) is not None else 1
    # A head may be as large as the embeddings, so twice the checkpoint's numbers is acceptable.
    if numbers > 2 * packed * weight_files.numbers + _SPARE:
        raise ModelError(
            f"{shown(folder / 'config.json')} makes a model of {numbers:,} numbers, and the weights next to it hold "
            f"{weight_files.numbers:,}; expected the config.json that was saved with the weights"
        )
