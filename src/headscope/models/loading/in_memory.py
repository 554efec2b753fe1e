"""A model that is already in memory, with its tokenizer, for a run, which does not change the model."""

from dataclasses import replace
from inspect import signature
from typing import Any

from torch import nn

from headscope.errors import ModelError, OptionError
from headscope.models.identity import without_wrappers
from headscope.models.loading.load_model import LoadedModel
from headscope.models.loading.refusals import check_ids, check_reads_text
from headscope.models.placement import precision_of
from headscope.visible import short_name

ORIGIN = "memory"


def model_in_memory(model: Any, tokenizer: Any) -> LoadedModel:
    """Combine a transformers model and its tokenizer; the model's device, dtype and mode stay as they are.

    Args:
        model: a transformers model, with or without a head.
        tokenizer: tokenizer of the model's training.

    Raises:
        OptionError: `model` is not a model, or `tokenizer` is not a tokenizer.
        ModelError: they do not fit each other.
    """
    model = without_wrappers(model)
    if not isinstance(model, nn.Module) or not hasattr(model, "config"):
        raise OptionError(
            f"model is a {type(model).__name__}; expected a hub name, a folder, what headscope.load_model returns, or "
            "a transformers model together with its tokenizer"
        )
    if tokenizer is None:
        raise OptionError(
            f"model is a {type(model).__name__} without a tokenizer; give tokenizer=, the one that it was trained with"
        )
    if not callable(tokenizer) or not hasattr(tokenizer, "get_vocab"):
        raise OptionError(
            f"tokenizer is a {type(tokenizer).__name__}; expected a tokenizer of transformers, as "
            "AutoTokenizer.from_pretrained returns it"
        )
    if next(model.parameters(), None) is None:
        raise ModelError(f"model {type(model).__name__} has no weights; expected a transformers model")
    check_reads_text(model)
    full_name = str(getattr(model.config, "name_or_path", "") or "")
    name = short_name(full_name) or type(model).__name__
    check_ids(model, tokenizer, name)
    return LoadedModel(model=model, tokenizer=tokenizer, name=name, origin=ORIGIN)


def without_head(loaded: LoadedModel) -> LoadedModel:
    """Return the model without its vocabulary head, with the same modules; a model without a head is not changed.

    In a small model, scoring every token of the vocabulary at every position takes most of the work, and attention does
    not depend on the scores.
    """
    model = loaded.model
    base = getattr(model, "base_model", model)
    if not isinstance(base, nn.Module) or "input_ids" not in signature(base.forward).parameters:
        return loaded
    head = getattr(model, "get_output_embeddings", lambda: None)()
    return loaded if base is model or head is None else replace(loaded, model=base)


def dtype_of(loaded: LoadedModel) -> str:
    """Return the precision that a model computes in, such as `float32`."""
    return str(precision_of(loaded.model)).removeprefix("torch.")
