"""The identity of a model: hashes of weights and configuration, adapters and quantization."""

import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from headscope.errors import ModelError
from headscope.models.load_model import LoadedModel
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


def is_adapted(part: nn.Module) -> bool:
    """Return True if a module is a layer with adapters: it computes as one layer, though it has parts."""
    return hasattr(part, "base_layer") and hasattr(part, "active_adapters")


def is_quantized(part: nn.Module) -> bool:
    """Return True if weights of a module are quantized, as tensors of a class of their own."""
    return bool(_classes(part))


def without_wrappers(model: Any) -> Any:
    """Return the transformers model inside the wrappers of torch.compile and PEFT; its adapters stay active in it.

    Raises:
        ModelError: the adapter adds tokens to the prompt, which the model alone would not do.
    """
    model = getattr(model, "_orig_mod", model)
    if not hasattr(model, "get_base_model") or not hasattr(model, "peft_config"):
        return model
    if getattr(model.active_peft_config, "is_prompt_learning", False):
        raise ModelError(
            f"{type(model).__name__} has an adapter of type {model.active_peft_config.peft_type.value}, which adds "
            "tokens that no text has; expected an adapter of weights, as LoRA, or the model without it: "
            "get_base_model()"
        )
    return without_wrappers(model.get_base_model())


def adaptation_facts(model: nn.Module) -> dict[str, Any]:
    """Return the facts about adapters and quantization for a signature; empty for a model with neither.

    Both change attention. They are recognized by attributes of modules (`base_layer` and `active_adapters` of PEFT,
    classes of quantized tensors), whichever package made them.

    `adapters` holds the names of active adapters, `scaling` the factors of the layers; `quantization` holds the method
    and the classes of the weights.
    """
    facts: dict[str, Any] = {}
    adapted: list[Any] = [part for part in model.modules() if is_adapted(part)]
    if on := [part for part in adapted if not getattr(part, "disable_adapters", False)]:
        facts["adapters"] = sorted({adapter for part in on for adapter in part.active_adapters})
        facts["scaling"] = sorted(
            {
                (adapter, float(value))
                for part in on
                for adapter, value in getattr(part, "scaling", {}).items()
                if adapter in part.active_adapters
            }
        )
    if quantized := _quantization(model):
        facts["quantization"] = quantized
    return facts


def _quantization(model: nn.Module) -> str:
    settings = getattr(model.config, "quantization_config", None)
    method = settings.get("quant_method") if isinstance(settings, dict) else getattr(settings, "quant_method", None)
    return ", ".join(filter(None, [str(getattr(method, "value", method) or ""), *sorted(_classes(model))]))


def _classes(part: nn.Module) -> set[str]:
    """Return the classes of a module's weights that are not plain tensors."""
    return {type(each).__name__ for each in part.parameters() if type(each) not in (nn.Parameter, Tensor)}
