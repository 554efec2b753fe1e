"""Guided attention: an extra loss directs two heads of a decoder early in training, and is dropped afterwards."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from headscope.errors import OptionError
from headscope.models.anatomy import GUIDED
from headscope_train.start import Start

STRENGTH = 0.3
"""Weight of the guiding loss relative to the training loss in the first step; it falls linearly to 0."""

_LEAST = 1e-6  # lower bound of a weight before its logarithm


def check_two_layers(start: Start) -> None:
    """Check that the model has a second layer to guide.

    Raises:
        OptionError: the model has one layer.
    """
    layers = int(start.model.config.num_hidden_layers)
    if layers < 2:
        raise OptionError(
            f"--guided shows a head of the second layer where to look, and {start.name} has {layers} layer; expected "
            "two layers or more"
        )


def name_guided(start: Start, *, share: float) -> None:
    """Write the guided heads into the model's configuration, so that reports of it mention them.

    Args:
        start: the model.
        share: share of the steps that is guided, from the first.
    """
    config = start.model.config
    setattr(config, GUIDED, {"heads": ["1-1", f"2-{int(config.num_attention_heads)}"], "share": float(share)})


def strength_at(step: int, *, steps: int, share: float) -> float:
    """Return the weight of the guiding loss in a step, counted from 0; it is 0 after the first `share` of the steps."""
    guided = share * steps
    return STRENGTH * max(0.0, 1 - step / guided) if guided else 0.0


def guiding_loss(weights: Sequence[Tensor], ids: Tensor, valid: Tensor) -> Tensor:
    """Compute the guiding loss of two heads, in nats: their distance from the intended attention.

    The first head of the first layer is guided to the previous token. The last head of the second layer is guided to
    the token after an earlier occurrence of the query token, in rows where that token equals the token to predict: an
    induction head, which finds its target through the output of the first head. Each term is the mean over rows of -ln
    of the head's weight on these keys.

    Args:
        weights: weights of each layer, `[batch, head, query, key]`; at least two layers.
        ids: `[batch, position]`.
        valid: 1 for tokens, 0 for padding on the right, `[batch, position]`.
    """
    real = valid[:, 1:].bool()
    before = weights[0][:, 0].diagonal(offset=-1, dim1=1, dim2=2)
    return _shown(before, real) + _shown(*_copied(weights[1][:, -1], ids, real))


def _copied(weights: Tensor, ids: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight on keys that follow an earlier occurrence and hold the next token, and the rows that have any.

    Both are `[batch, query]`, without the last query, which has no next token to predict.
    """
    after_same = ids[:, :-1, None] == ids[:, None, :-1]  # query, and the token before the key
    predicted = ids[:, 1:, None] == ids[:, None, 1:]  # the token after the query, and the key
    earlier = torch.ones_like(after_same[0]).tril(-1)  # the key is not after the query
    right = after_same & predicted & earlier & real[:, None, :]
    return (weights[:, :-1, 1:] * right).sum(-1), right.any(-1) & real


def _shown(weights: Tensor, rows: Tensor) -> Tensor:
    """Return -ln of weights, averaged over rows; 0 without rows."""
    return -(weights.float().clamp_min(_LEAST).log() * rows).sum() / rows.sum().clamp_min(1)


@contextmanager
def attending_eagerly(model: Any) -> Iterator[None]:
    """Use eager attention, the only implementation that returns weights, inside the block."""
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(implementation)
