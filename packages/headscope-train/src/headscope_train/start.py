"""The start of a training: a checkpoint with its language-model head, or a new BERT."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headscope.errors import ModelError, OptionError
from headscope.models.load_model import LoadedModel, positions_of, read_model
from headscope_train.size import Size


@dataclass(frozen=True, kw_only=True)
class Start:
    """A model to be trained.

    Attributes:
        model: a transformers model with a language-model head, float32, on the CPU.
        tokenizer: its tokenizer.
        name: display name: that of the checkpoint, or `new BERT 4x4x128`.
        new_head: True if the head's weights are from the initializer although the model's are trained.
    """

    model: Any
    tokenizer: Any
    name: str
    new_head: bool = False


def go_on_with(name: str | None, *, revision: str | None = None, seed: int = 0) -> Start:
    """Load a checkpoint with its masked-LM head; a missing head is initialized from the seed.

    Args:
        name: hub name or folder; None for the embedded model.
        revision: revision on the hub.
        seed: seed of new weights; changes torch's global random state.

    Raises:
        ModelError: any error of `load_model`; a model that cannot fill in masks, or a tokenizer without a mask token.
    """
    torch.manual_seed(seed)
    loaded = _with_head("AutoModelForMaskedLM", name, revision=revision, head="masked-LM", refuse=_no_masks)
    if loaded.tokenizer.mask_token_id is None:
        raise _no_masks(loaded.name, "its tokenizer has no mask token")
    return _begun(loaded)


def go_on_with_decoder(name: str | None, *, revision: str | None = None, seed: int = 0) -> Start:
    """Load a decoder with its language-model head; a missing head is initialized from the seed.

    Args:
        name: hub name or folder.
        revision: revision on the hub.
        seed: seed of new weights; changes torch's global random state.

    Raises:
        ModelError: any error of `load_model`; a model that attends to later tokens, which it could copy.
    """
    torch.manual_seed(seed)
    loaded = _with_head("AutoModelForCausalLM", name, revision=revision, head="causal", refuse=_no_decoder)
    if _sees_what_follows(loaded.model):
        raise _no_decoder(loaded.name, "it sees what follows")
    return _begun(loaded)


def _with_head(
    auto_class: str, name: str | None, *, revision: str | None, head: str, refuse: Callable[[str, str], ModelError]
) -> LoadedModel:
    """Load a model with a head, which is initialized if the checkpoint lacks it.

    Args:
        auto_class: auto class of transformers.
        name, revision: as for `go_on_with`.
        head: name of the head in messages.
        refuse: builds the error from the model's name and the reason.
    """
    try:
        loaded = read_model(auto_class, name, revision=revision, dtype="float32", device="cpu")
    except ModelError as error:
        if "Unrecognized configuration class" not in str(error.__cause__):
            raise
        raise refuse(f"{name}", f"transformers has no {head} head for its family") from error
    if getattr(loaded.model.config, "is_encoder_decoder", False):
        raise refuse(loaded.name, "it has an encoder and a decoder")
    return loaded


def _sees_what_follows(model: Any) -> bool:
    """Return True if a later token changes earlier scores: BERT-like models with a causal head attend both ways."""
    ids = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 4]])
    with torch.no_grad():
        alone, in_pair = model.eval()(input_ids=ids).logits[:, 0]
    return not torch.allclose(alone, in_pair, atol=1e-4)


def _no_decoder(name: str, why: str) -> ModelError:
    return ModelError(
        f"{name} cannot be trained to foretell the next token: {why}; expected a decoder such as GPT-2 or Llama"
    )


def _begun(loaded: LoadedModel) -> Start:
    """Return a loaded model as the start of a training.

    Raises:
        ModelError: weights of its body are missing.
    """
    # Only parameters count: buffers (a bias of zeros, position ids) are rebuilt identically every time.
    parameters = dict(loaded.model.named_parameters(remove_duplicate=False))
    missing = sorted(key for key in loaded.untrained if key in parameters)
    body = [key for key in missing if key.startswith(f"{loaded.model.base_model_prefix}.")]
    if body:
        raise ModelError(
            f"{loaded.name}: the checkpoint lacks {len(body)} of the model's weights ({body[0]}, ...), which would be "
            "random; expected a whole checkpoint of this architecture"
        )
    return Start(model=loaded.model, tokenizer=loaded.tokenizer, name=loaded.name, new_head=bool(missing))


def _no_masks(name: str, why: str) -> ModelError:
    return ModelError(f"{name} cannot be trained with masks: {why}; expected an encoder such as BERT or RoBERTa")


def new_bert(size: Size, tokenizer: Any, *, max_length: int, seed: int = 0) -> Start:
    """Build a BERT with weights from its own initializer.

    Args:
        size: layers, heads and width; the feed-forward parts are four times as wide.
        tokenizer: tokenizer whose pieces the model reads.
        max_length: number of tokens of the longest input, and number of positions.
        seed: seed of the weights; changes torch's global random state.

    Raises:
        ModelError: the tokenizer has no mask token or no padding token.
    """
    for kind in ("mask", "pad"):
        if getattr(tokenizer, f"{kind}_token_id") is None:
            raise ModelError(
                f"the tokenizer has no {kind} token; expected one such as BERT's, or leave --tokenizer out to train one"
            )
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=max(tokenizer.get_vocab().values()) + 1,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(seed)
    return Start(model=BertForMaskedLM(config), tokenizer=tokenizer, name=f"new BERT {size}")


def set_dropout(model: nn.Module, share: float) -> None:
    """Set the rate of every dropout of a model."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        for name in ("dropout_prob", "attention_dropout"):  # rates that some model families pass to a function
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)


def takes_types(model: nn.Module) -> bool:
    """Return True if a model distinguishes the texts of a pair by token types."""
    config: Any = model.config
    named = "token_type_ids" in inspect.signature(model.forward).parameters
    return named and (getattr(config, "type_vocab_size", None) or 0) > 1


def check_length(start: Start, max_length: int) -> None:
    """Check that inputs are not longer than the model can read, and not too short for its special tokens.

    Raises:
        OptionError: the length does not fit; the message gives the lengths that do.
    """
    table = getattr(getattr(start.model.base_model, "embeddings", None), "position_embeddings", None)
    reserved = getattr(table, "padding_idx", None)  # RoBERTa-like models reserve the positions up to the padding's
    config = start.model.config
    most = min(
        positions_of(config) - (0 if reserved is None else reserved + 1),
        getattr(start.tokenizer, "model_max_length", None) or 1 << 30,
    )
    if max_length > most:
        raise OptionError(
            f"--max-length {max_length} is more than {start.name} can read; expected at most {most} tokens"
        )
    fewest = start.tokenizer.num_special_tokens_to_add(pair=True) + 2
    if max_length < fewest:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside the special tokens; expected at least {fewest} tokens"
        )
