"""A new decoder to train: a small Llama, with residual dropout, because its family has only attention dropout."""

from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope_train.size import Size
from headscope_train.start import Start

_DROPPED = ("embed_tokens", "o_proj", "down_proj")
"""Modules of a Llama whose output is added to the residual stream."""

_WRITING = ("o_proj.weight", "down_proj.weight")
_WRITTEN, _ASKED = (0.3, 0.5)  # factors on the initial output weights, and on those of queries and keys


def new_decoder(size: Size, tokenizer: Any, *, groups: int | None = None, max_length: int, seed: int = 0) -> Start:
    """Build a Llama with random weights, rotary positions, and output weights tied to its embeddings.

    Args:
        size: layers, heads and width; the gated feed-forward parts are 8/3 as wide, rounded up to a multiple of 32.
        tokenizer: tokenizer whose pieces the model reads.
        groups: number of key/value heads per layer; one for each head when None.
        max_length: number of tokens of the longest input.
        seed: seed of the weights; changes torch's global random state.

    Raises:
        ModelError: the heads have an odd width, which rotary positions do not support.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    if size.width // size.heads % 2:
        raise ModelError(
            f"--size {size}: a head would be {size.width // size.heads} wide, and rotary positions need an even "
            f"width; expected as {size.layers}x{size.heads}x{size.width + size.heads}"
        )
    config = LlamaConfig(
        vocab_size=max(tokenizer.get_vocab().values()) + 1,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=groups or size.heads,
        intermediate_size=32 * -(-8 * size.width // 96),
        max_position_embeddings=max_length,
        tie_word_embeddings=True,
        attention_bias=True,
        # With the family's 0.02 the heads of a narrow model start almost uniform, and learn positions slowly.
        initializer_range=size.width**-0.5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    _begin_gently(model)
    shared = f"/{groups}" if groups else ""
    name = f"new Llama {size.layers}x{size.heads}{shared}x{size.width}"
    return Start(model=model, tokenizer=tokenizer, name=name)


def _begin_gently(model: nn.Module) -> None:
    """Make the embeddings dominate the residual stream instead of random blocks, and half of the heads look nearby.

    With equal biases of queries and keys, rotary positions make a head's weight decrease with distance, whatever the
    tokens are: from there, attention to the previous token is quickly learned.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(_WRITING):
                parameter.mul_(_WRITTEN)
            elif name.endswith(("q_proj.weight", "k_proj.weight")):
                parameter.mul_(_ASKED)
            elif name.endswith(("q_proj.bias", "k_proj.bias")):
                parameter[: len(parameter) // 2] = 1.0


def drop_residuals(model: nn.Module, share: float) -> None:
    """Add dropout to the outputs of the embeddings and of each block of a Llama, active while it is trained.

    The hooks exist only in this process: they are not saved with the model.
    """

    def dropped(module: nn.Module, _arguments: Any, output: Tensor) -> Tensor:
        return nn.functional.dropout(output, share, training=module.training)

    if share:
        for name, module in model.named_modules():
            if name.rpartition(".")[2] in _DROPPED:
                module.register_forward_hook(dropped)
