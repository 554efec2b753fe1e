"""Models in memory: given in Python with a tokenizer, read without a head, or with random weights."""

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any

import torch
from torch import nn

from headscope.errors import ModelError, OptionError
from headscope.models.identity import without_wrappers
from headscope.models.load_model import LoadedModel, load_tokenizer
from headscope.models.placement import choose_device, device_of, named_weights, precision_of
from headscope.models.refusals import check_ids, check_reads_text
from headscope.visible import short_name

ORIGIN = "memory"
_EMBEDDING = re.compile(r"embed|^wte$|^wpe$|^shared$")


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


def load_debug_model(name: str | None = None, *, revision: str | None = None, device: str = "auto") -> LoadedModel:
    """Make a random BERT of 3 layers x 12 heads, 144 wide as in the original's `--debug`, for a model's tokenizer.

    The weights are always the same; the real model's weights are not read.

    Args:
        name: model whose tokenizer is used, as in `load_model`.
        revision: branch, tag or commit on the hub.
        device: `auto` or a torch device.

    Raises:
        ModelError: the tokenizer cannot be loaded.
        OptionError: an unknown device.
    """
    target = choose_device(device)
    tokenizer, label = load_tokenizer(name, revision=revision)
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=max(tokenizer.get_vocab().values()) + 1,
        num_hidden_layers=3,
        num_attention_heads=12,
        hidden_size=144,
        intermediate_size=576,
        max_position_embeddings=4096,
        pad_token_id=tokenizer.pad_token_id or 0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Any = BertModel(config)
    return LoadedModel(
        model=model.to(target).eval(), tokenizer=tokenizer, name=f"debug ({label}'s tokenizer)", revision=revision
    )
