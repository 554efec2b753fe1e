"""The losses whose gradients are taken: the loss that fits a model, its targets, and its sum."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headscope.encoding.choices import LABELS
from headscope.encoding.denoising import Denoising, MaskedTokens
from headscope.encoding.loss_questions import NO_TARGET, Ask, NextToken
from headscope.errors import ModelError, OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.temporary_changes import hooked

# The kind of model that each loss is for, in words: plural, and with an article.
_FOR = {"mlm": "encoders", "clm": "decoders", "denoise": "encoder-decoders"}
_IS = {"mlm": "an encoder", "clm": "a decoder", "denoise": "an encoder-decoder"}


def loss_of(anatomy: Anatomy) -> str:
    """Return the loss that a kind of model was trained with: `mlm`, `clm` or `denoise`."""
    if anatomy.encoder_decoder:
        return "denoise"
    return "clm" if any(part.kind == "decoder" for part in anatomy.layout) else "mlm"


def choose_loss(wanted: str, anatomy: Anatomy, *, name: str, labels: str | None = None) -> str:
    """Return the wanted loss, the model's own loss for `none`, or the classification loss if labels are given.

    Args:
        wanted: one of `encoding.choices.LOSSES`, or `none`.
        anatomy: anatomy of the model.
        name: name of the model in messages.
        labels: field of documents that holds their labels; None without labels.

    Raises:
        OptionError: the loss is for another kind of model (the message names the fitting one), or contradicts labels.
    """
    if labels is not None:
        if wanted != "none":
            raise OptionError(
                f"both --labels and --loss {wanted} were given; with labels the loss is the classifier's: leave one out"
            )
        if anatomy.encoder_decoder:
            raise OptionError(
                f"--labels is for classifiers that are an encoder or a decoder, and {name} is an encoder-decoder; "
                "leave it out"
            )
        return LABELS
    fitting = loss_of(anatomy)
    if wanted not in ("none", fitting):
        raise OptionError(f"loss {wanted} is for {_FOR[wanted]}, and {name} is {_IS[fitting]}; choose loss {fitting}")
    return fitting


def classes_of(model: Any, *, name: str) -> dict[str, int]:
    """Return the number of each class of a classifier, by class name.

    Args:
        model: a transformers model with a classification head.
        name: name of the model in messages.

    Raises:
        ModelError: the model is a regression, or predicts several labels at once.
    """
    config = model.config
    kind = config.problem_type
    if config.num_labels < 2 or kind not in (None, "single_label_classification"):
        what = {"multi_label_classification": "any number of labels at once"}.get(kind, "a number")
        raise ModelError(
            f"{name} predicts {what}, and not one class of several, whose cross entropy --labels takes; choose another "
            "model, or leave --labels out"
        )
    return {str(label): int(number) for number, label in config.id2label.items()}


def ask_of(loss: str, tokenizer: Any, anatomy: Anatomy, *, seed: int = 0) -> Ask:
    """Return the function that makes the questions of a loss that needs only text.

    Args:
        loss: one of `encoding.choices.LOSSES`.
        tokenizer: a transformers tokenizer.
        anatomy: anatomy of the model.
        seed: seed of the random choice of hidden tokens.

    Raises:
        ModelError: the tokenizer has no mask or sentinel token.
    """
    if loss == "mlm":
        return MaskedTokens(tokenizer, seed=seed)
    if loss == "clm":
        return NextToken()
    return Denoising(tokenizer, start=anatomy.shift_start, seed=seed)


def segment_losses(
    logits: Float[Tensor, "asked vocabulary"], targets: Int[Tensor, "batch position"]
) -> Float[Tensor, " batch"]:
    """Return each segment's cross entropy, the mean over its targets, in nats; 0 for a segment without any.

    The loss of a batch is their sum, so that a segment's gradient does not depend on the other segments in its batch.

    Args:
        logits: the model's scores of every token at the positions with a target, row by row, `[asked, token]`.
        targets: the right tokens, `NO_TARGET` at positions without a target, `[batch, position]`.
    """
    has_target = targets != NO_TARGET
    exact = logits if logits.dtype == torch.float64 else logits.float()
    nats = torch.nn.functional.cross_entropy(exact, targets[has_target], reduction="none")
    owner = has_target.nonzero()[:, 0]
    sums = nats.new_zeros(len(targets)).index_add(0, owner, nats)
    return sums / has_target.sum(1).clamp(min=1)


@contextmanager
def asked_logits(model: nn.Module, has_target: Bool[Tensor, "batch position"]) -> Iterator[None]:
    """Let a model score only the positions with a target: its logits become `[asked, token]`.

    In a small model, scoring every token of a large vocabulary at every position takes most of the work and memory.
    If the last layer is not found, or gets another input, logits stay `[batch, position, token]`.
    """
    head = model.get_output_embeddings()  # type: ignore[operator]
    heads = [] if head is None else [head]
    with hooked(each.register_forward_pre_hook(partial(_pick, has_target)) for each in heads):
        yield


def _pick(has_target: Tensor, _: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Keep only the positions with a target of a layer's input: `[batch, position, width]` -> `[asked, width]`."""
    states = arguments[0]
    if states.ndim != 3 or states.shape[:2] != has_target.shape:
        return None
    return (states[has_target], *arguments[1:])


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Turn off the gradients of a model's parameters; restore the flag of each afterwards, also after an error."""
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)
