"""A GPT-2 with hand-written weights, whose heads read and write fixed directions of the residual stream.

All directions are orthogonal unit vectors with mean zero, so that LayerNorm only divides by a number that is the
same for all tokens: the root of the number of directions in the stream, over its width.
"""

import functools

import numpy as np
import torch
import transformers as tf

from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary

TOKENS, POSITIONS = 8, 40
_HALF = 3 * TOKENS + POSITIONS
_HEADS, _SHARP = 2, 60.0
CONSTANT = None
"""What a query reads that is the same for all tokens: the bias."""


def direction(number):
    """Return one of the directions of the stream."""
    vector = torch.zeros(2 * _HALF, dtype=torch.float64)
    vector[number], vector[number + _HALF] = 0.5**0.5, -(0.5**0.5)
    return vector


def token(number):
    """Return the direction of a token's embedding."""
    return direction(number)


def position(number):
    """Return the direction of a position's embedding."""
    return direction(TOKENS + number)


def written(head, number):
    """Return the direction in which head 0 or 1 of the first layer writes an attended token."""
    return direction(TOKENS + POSITIONS + head * TOKENS + number)


def offset_channels(back, strength=_SHARP):
    """Return the channels of a head that looks `back` positions back."""
    return [(position(row), position(row - back), strength) for row in range(back, POSITIONS)]


def same_channels(query, key, strength):
    """Return the channels of a head whose queries and keys match where they read the same token."""
    return [(query(number), key(number), strength) for number in range(TOKENS)]


def circuit(channels, *, layer=1, back=(1, 0)):
    """Return a GPT-2 whose head 2-1, or 1-1, is made by hand.

    Args:
        channels: directions that the head's query and key read, and the score where a token has both. A query may
            read `CONSTANT`.
        layer: 0-based layer of the head.
        back: offset of each head of the first layer: how many positions back is the token that it writes.
    """
    config = tf.GPT2Config(
        n_embd=2 * _HALF, n_layer=2, n_head=_HEADS, vocab_size=TOKENS, n_positions=POSITIONS, layer_norm_epsilon=1e-12,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = tf.GPT2Model(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(float(name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight"))))
        model.wte.weight.copy_(torch.stack([token(number) for number in range(TOKENS)]))
        model.wpe.weight.copy_(torch.stack([position(number) for number in range(POSITIONS)]))
        for head, distance in enumerate(back):
            own = channels if (layer, head) == (0, 0) else offset_channels(distance)
            _read(model, 0, head, own)
            if layer == 1:
                _write(model, head)
        if layer == 1:
            _read(model, 1, 0, channels)
    return model


def _scale(layer):
    """Return the factor of a layer's norm: two directions in the stream, and two more after layer 1."""
    return (2 * _HALF / (2 + _HEADS * layer)) ** 0.5


def _read(model, layer, head, channels):
    """Set the queries and keys of a head; GPT-2 divides scores by the root of a head's width."""
    width = 2 * _HALF // _HEADS
    attention = model.h[layer].attn.c_attn
    for number, (query, key, strength) in enumerate(channels):
        column = head * width + number
        if query is CONSTANT:
            attention.bias[column] = strength * width**0.5
        else:
            attention.weight[:, column] = strength * width**0.5 * query / _scale(layer)
        attention.weight[:, 2 * _HALF + column] = key / _scale(layer)


def _write(model, head):
    """Let a head of the first layer write the tokens that it attends to."""
    width = 2 * _HALF // _HEADS
    attention = model.h[0].attn
    for number in range(TOKENS):
        column = head * width + number
        attention.c_attn.weight[:, 4 * _HALF + column] = token(number) / _scale(0)
        attention.c_proj.weight[column] = written(head, number)


@functools.cache
def circuit_vocabulary():
    """Return the vocabulary of these models: without special tokens, so that the first token is the sink."""
    return Vocabulary(
        classes=np.zeros(TOKENS, dtype=np.uint8), has_cls=False, cls_name="first token", sep_name=None, pad_id=0
    )


def circuit_segment(ids):
    """Return an input of these models."""
    ids = np.array(ids, dtype=np.int64)
    return Segment(document="a", index=0, ids=ids, token_types=np.zeros_like(ids), word_ids=np.arange(len(ids)))
