"""A language model's scores, computed only at the target tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headscope_train.batches import TargetBatch


@contextmanager
def scores_where_asked(model: nn.Module, positions: Tensor) -> Iterator[None]:
    """Restrict a model's head to some tokens inside the block: the widest layer then computes 15% for masked words.

    The body's output is cut to `[1, asked, width]` before the head, whatever the family's name for its head.

    Args:
        model: model with a language-model head; unchanged afterwards.
        positions: positions in the flattened batch, `[asked]`.
    """

    def cut(_module: nn.Module, _arguments: Any, output: Any) -> Any:
        hidden = output[0]
        output["last_hidden_state"] = hidden.reshape(-1, hidden.shape[-1])[positions][None]
        return output

    body: Any = model.base_model
    handle = body.register_forward_hook(cut)
    try:
        yield
    finally:
        handle.remove()


def asked_scores(model: nn.Module, batch: TargetBatch, *, types: bool) -> Tensor:
    """Return the model's scores of every piece for each target token, float32 `[asked, piece]`.

    Args:
        model: model with a language-model head, on the batch's device.
        batch: the inputs.
        types: True if the model takes token types.
    """
    scores: Tensor = _asked_output(model, batch, types=types).logits[0].float()
    return scores


def scores_and_weights(model: nn.Module, batch: TargetBatch, *, types: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return `asked_scores`, and each layer's attention `[batch, head, query, key]`; the model must attend eagerly."""
    output = _asked_output(model, batch, types=types, output_attentions=True)
    return output.logits[0].float(), output.attentions


def _asked_output(model: nn.Module, batch: TargetBatch, *, types: bool, **options: bool) -> Any:
    arguments = {"input_ids": batch.ids, "attention_mask": batch.valid, **options}
    if types:
        arguments["token_type_ids"] = batch.types
    with scores_where_asked(model, batch.positions):
        return model(**arguments)


def loss_and_hits(scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy of each target token, in nats, and True if it has the highest score, `[asked]`."""
    losses = torch.nn.functional.cross_entropy(scores, targets, reduction="none")
    return losses, scores.argmax(-1) == targets
