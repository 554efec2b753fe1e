"""A tiny random model in place of a real one, to try a command quickly."""

from typing import Any

import torch

from headscope.models.loading.devices import choose_device
from headscope.models.loading.load_model import LoadedModel, load_tokenizer


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
