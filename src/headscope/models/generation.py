"""Text written by a model, always with the most likely next token."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.loading.load_model import LoadedModel
from headscope.models.temporary_changes import eager_evaluation, quiet_libraries


def generate(loaded: LoadedModel, anatomy: Anatomy, inputs: Mapping[str, Tensor], *, tokens: int) -> list[int]:
    """Return the ids of the tokens that the model writes after its input, greedily, with its own `generate`.

    Args:
        loaded: a model with a head that predicts tokens.
        anatomy: result of `examine`.
        inputs: the model's arguments for one input without padding; for an encoder-decoder including the decoder's
            input so far.
        tokens: maximum number of tokens to write; fewer are returned if the model ends its text.

    Raises:
        ModelError: the model cannot generate text.
    """
    model: Any = loaded.model
    reads_on = anatomy.encoder_decoder or all(part.kind == "decoder" for part in anatomy.layout)
    if not reads_on:
        raise ModelError(
            f"{loaded.name} reads a text in both directions and cannot write one; choose a decoder such as GPT-2, "
            "or an encoder-decoder such as T5, or leave out --generate"
        )
    if not (hasattr(model, "can_generate") and model.can_generate()):
        raise ModelError(
            f"{type(model).__name__} has no head to write text with; load the model with AutoModelForCausalLM or "
            "AutoModelForSeq2SeqLM"
        )
    arguments = {name: inputs[name] for name in ("input_ids", "attention_mask", "decoder_input_ids") if name in inputs}
    before = arguments["decoder_input_ids" if anatomy.encoder_decoder else "input_ids"].shape[1]
    pad = loaded.tokenizer.pad_token_id
    # transformers allocates T5's cache by the encoder's layers, so a model with more decoder layers generates without.
    decoders = getattr(model.config, "num_decoder_layers", None)
    with quiet_libraries(), warnings.catch_warnings(), eager_evaluation(model), torch.inference_mode():
        warnings.simplefilter("ignore")  # about sampling options in the checkpoint, which greedy search ignores
        out = model.generate(
            **arguments,
            max_new_tokens=tokens,
            do_sample=False,
            num_beams=1,
            use_cache=decoders is None or decoders <= model.config.num_hidden_layers,
            pad_token_id=0 if pad is None else pad,
        )
    return [int(i) for i in out[0, before:]]
