"""LoRA adapters: weights of a folder that peft wrote, added to those of the adapter's model; peft is not needed."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.folder.check import ADAPTER
from headscope.models.folder.files import check_files, read_object
from headscope.models.folder.weight_files import read_header
from headscope.visible import shown

_WEIGHTS = "adapter_model.safetensors"
_REMEDY = "merge it into its model with peft's merge_and_unload, save the whole model, and give its folder"


def is_adapter(name: str | Path) -> bool:
    """Return True if a folder holds an adapter without its model."""
    return (Path(name) / ADAPTER).is_file() and not (Path(name) / "config.json").is_file()


@torch.no_grad()
def add_lora(model: nn.Module, folder: Path) -> None:
    """Add the weights of a LoRA adapter to a model, in place: `W + alpha / r B A` (Hu et al. 2021).

    Modules that the model lacks because it was loaded without its task head are left out.

    Args:
        model: the adapter's model, with plain weights.
        folder: folder that peft wrote.

    Raises:
        ModelError: the adapter is not a plain LoRA adapter with safetensors weights, or does not fit the model.
    """
    from safetensors.torch import load_file

    called = shown(str(folder))
    check_files(folder)
    config = read_object(folder / ADAPTER)
    kind = config.get("peft_type")
    if kind != "LORA" or config.get("use_dora"):
        raise ModelError(
            f"{called} is an adapter of type {'DORA' if config.get('use_dora') else kind}; expected LORA: {_REMEDY}"
        )
    if not (folder / _WEIGHTS).is_file():
        raise ModelError(f"{called} has no {_WEIGHTS}; save the adapter with save_pretrained, as safetensors")
    read_header(folder / _WEIGHTS)
    weights = {name.removeprefix("base_model.model."): value for name, value in load_file(folder / _WEIGHTS).items()}
    modules, added = dict(model.named_modules()), 0
    for name, value in weights.items():
        path, lora, _ = name.partition(".lora_B.")
        module = _module(path if lora else name.rpartition(".")[0], model, modules)
        if not lora and ".lora_A." not in name and module is not None:
            raise ModelError(f"{called} changes {name}, besides LoRA; {_REMEDY}")
        of_layer = any(part.isdigit() for part in path.split("."))
        if not lora or (module is None and not of_layer):
            continue  # the other half of a pair, or a task head
        lora_a = weights.get(f"{path}.lora_A.weight")
        if module is None or lora_a is None:
            raise ModelError(
                f"{called} adapts {path}, which {type(model).__name__} lacks; give the adapter's own model"
            )
        change = (value.float() @ lora_a.float()) * _scaling(config, path, rank=len(lora_a))
        _add(module, change.T if config.get("fan_in_fan_out") else change, called=called, path=path)
        added += 1
    if not added:
        raise ModelError(f"{called} holds no LoRA weights (lora_A, lora_B); {_REMEDY}")


def _module(path: str, model: nn.Module, modules: Mapping[str, nn.Module]) -> nn.Module | None:
    """Return the module at a path of the adapter's model, which may have been loaded with or without its task head."""
    prefix = f"{getattr(model, 'base_model_prefix', '')}."
    names = (path, path.removeprefix(prefix), prefix + path)
    return next((modules[name] for name in names if name in modules), None)


def _scaling(config: Mapping[str, Any], path: str, *, rank: int) -> float:
    patterns = config.get("alpha_pattern") or {}
    matched = (alpha for pattern, alpha in patterns.items() if re.fullmatch(rf"(.*\.)?({pattern})", path))
    alpha = float(next(matched, config.get("lora_alpha", rank)))
    return alpha / (rank**0.5 if config.get("use_rslora") else rank)


def _add(module: nn.Module, change: Tensor, *, called: str, path: str) -> None:
    weight: Any = getattr(module, "weight", None)
    if type(weight) is not nn.Parameter or weight.is_meta or weight.shape != change.shape:
        raise ModelError(
            f"{called} adapts {path} by {tuple(change.shape)} numbers, and the model's weight there has another shape, "
            "or is quantized or offloaded; give the adapter's own model, whole"
        )
    weight.add_(change.to(weight))
