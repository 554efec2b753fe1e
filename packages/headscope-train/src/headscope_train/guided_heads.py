"""Two heads of a decoder that are shown where to look while its training begins, and are left alone afterwards."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from headscope.errors import OptionError
from headscope.models.guided import GUIDED
from headscope_train.start import Start

STRENGTH = 0.3
"""Weight of what is shown beside the loss, in the first step; it falls in a line to 0."""

_LEAST = 1e-6  # weight whose logarithm is still taken


def check_two_layers(start: Start) -> None:
    """Refuse a model that has no second layer to show anything to.

    Raises:
        OptionError: says so.
    """
    layers = int(start.model.config.num_hidden_layers)
    if layers < 2:
        raise OptionError(
            f"--guided shows a head of the second layer where to look, and {start.name} has {layers} layer; expected "
            "two layers or more"
        )


def name_guided(start: Start, *, share: float) -> None:
    """Write into the model's configuration which heads are guided, so that reports of it say so.

    Args:
        start: the model.
        share: of the steps, from the first.
    """
    config = start.model.config
    setattr(config, GUIDED, {"heads": ["1-1", f"2-{int(config.num_attention_heads)}"], "share": float(share)})


def strength_at(step: int, *, steps: int, share: float) -> float:
    """Return how much what is shown counts in a step, counted from 0: nothing after the first `share` of the steps."""
    guided = share * steps
    return STRENGTH * max(0.0, 1 - step / guided) if guided else 0.0


def guiding_loss(weights: Sequence[Tensor], ids: Tensor, valid: Tensor) -> Tensor:
    """Return how far two heads are from where they are shown to look, in nats.

    The first head of the first layer is shown the token before. The last head of the second is shown what came after
    an earlier occurrence of the token that attends, in the rows in which the token to foretell did come there: an
    induction head, which finds it by what the first head wrote. Each is the mean over rows of -ln of the head's weight
    on these keys.

    Args:
        weights: of each layer, `[batch, head, query, key]`; two layers at least.
        ids: `[batch, position]`.
        valid: 1 for tokens, 0 for padding on the right, `[batch, position]`.
    """
    real = valid[:, 1:].bool()
    before = weights[0][:, 0].diagonal(offset=-1, dim1=1, dim2=2)
    return _shown(before, real) + _shown(*_copied(weights[1][:, -1], ids, real))


def _copied(weights: Tensor, ids: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight on keys after an earlier occurrence that hold the next token, and in which rows there are any.

    Both are `[batch, query]`, without the last query, after which nothing is foretold.
    """
    after_same = ids[:, :-1, None] == ids[:, None, :-1]  # query, and the key before the key in question
    foretold = ids[:, 1:, None] == ids[:, None, 1:]  # the token after the query, and the key
    earlier = torch.ones_like(after_same[0]).tril(-1)  # the key in question is at most at the query
    right = after_same & foretold & earlier & real[:, None, :]
    return (weights[:, :-1, 1:] * right).sum(-1), right.any(-1) & real


def _shown(weights: Tensor, rows: Tensor) -> Tensor:
    """Return -ln of weights, averaged over rows; 0 without any."""
    return -(weights.float().clamp_min(_LEAST).log() * rows).sum() / rows.sum().clamp_min(1)


@contextmanager
def attending_eagerly(model: Any) -> Iterator[None]:
    """Let a model attend in the one way that gives weights, as long as the block runs."""
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(implementation)
