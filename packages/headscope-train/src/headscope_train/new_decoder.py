"""A new decoder to train: a small Llama, and dropout for it, which its family has at the attention alone."""

from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope_train.size import Size
from headscope_train.start import Start

_DROPPED = ("embed_tokens", "o_proj", "down_proj")
"""Modules of a Llama whose output is added to the residual stream."""

_WRITING = ("o_proj.weight", "down_proj.weight")
_WRITTEN, _ASKED = (0.3, 0.5)  # of the weights that the initializer gives to what writes, and to queries and keys


def new_decoder(size: Size, tokenizer: Any, *, groups: int | None = None, max_length: int, seed: int = 0) -> Start:
    """Make a Llama with random weights: rotary positions, and output scores by its embeddings.

    Args:
        size: layers, heads and width; the gated feed-forward parts are 8/3 as wide, rounded up to a multiple of 32.
        tokenizer: whose pieces it reads.
        groups: how many different keys and values the heads of a layer share; one for each head when None.
        max_length: tokens of the longest input.
        seed: of the weights; torch's own state of randomness is changed.

    Raises:
        ModelError: heads of an odd width, which rotary positions cannot turn.
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
        # With the family's 0.02 a narrow model's heads begin all but uniform, and take long to tell positions apart.
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
    """Let the embeddings, and not random blocks, be most of the residual stream; and half of the heads look nearby.

    With equal biases of queries and keys, rotary positions make a head's weight fall off with distance, whatever the
    tokens are: from there it is not far to the token before.
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
    """Let a share of what the embeddings and each block add to the residual stream out while a Llama is trained.

    The hooks are the process's own: nothing of them is saved with the model.
    """

    def dropped(module: nn.Module, _arguments: Any, output: Tensor) -> Tensor:
        return nn.functional.dropout(output, share, training=module.training)

    if share:
        for name, module in model.named_modules():
            if name.rpartition(".")[2] in _DROPPED:
                module.register_forward_hook(dropped)
