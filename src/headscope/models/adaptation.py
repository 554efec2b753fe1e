"""Changes of a model after its training: adapters added to its weights, and quantized weights.

Both change attention, so both are part of a run's signature. They are recognized by attributes of modules (`base_layer`
and `active_adapters` of PEFT, classes of quantized tensors), whichever package made them.
"""

from typing import Any

from torch import Tensor, nn

from headscope.errors import ModelError


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
