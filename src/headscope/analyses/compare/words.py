"""Rows of attention between words that two models share, and the same rows with keys permuted."""

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.word_attention import between_words, word_axis
from headscope.encoding.segment import NO_WORD, SegmentInfo


def common_rows(
    first: Float[Tensor, "head row key"],
    second: Float[Tensor, "head2 row2 key2"],
    tokens: tuple[SegmentInfo, SegmentInfo],
    other_tokens: tuple[SegmentInfo, SegmentInfo],
    *,
    item: int,
    causal: bool,
) -> tuple[Float[Tensor, "head word common"], Float[Tensor, "head2 word common"]]:
    """Return the attention of two models between the words that both have, and to everything else as the last key.

    Attention to a word is the sum over its tokens; attention from it is their mean. The last key holds special tokens,
    words that only one model has and, if one of the models is causal, later words: what the other cannot look at.

    Args:
        first: weights of a segment in the first model, without padding.
        second: weights in the second model.
        tokens: queries and keys of the batch in the first model, with word ids that both models share.
        other_tokens: queries and keys of the batch in the second model.
        item: index of the segment in the batch.
        causal: whether rows are cut after their own word.
    """
    sides = [_of_words(first, tokens, item), _of_words(second, other_tokens, item)]
    rows, keys = (np.intersect1d(sides[0][axis], sides[1][axis]) for axis in (1, 2))
    visible = torch.from_numpy(keys[None] <= rows[:, None] if causal else np.full((len(rows), len(keys)), True))
    joint = []
    for weights, row_words, key_words in sides:
        at = [torch.from_numpy(np.searchsorted(*each)) for each in ((row_words, rows), (key_words, keys))]
        between = weights[:, at[0].to(weights.device)][..., at[1].to(weights.device)]
        between = between * visible.to(between.device)
        rest = (1 - between.sum(-1, keepdim=True)).clamp_min_(0.0)
        joint.append(torch.cat([between, rest], dim=-1))
    return joint[0], joint[1]


def _of_words(
    weights: Tensor, tokens: tuple[SegmentInfo, SegmentInfo], item: int
) -> tuple[Tensor, NDArray[np.int64], NDArray[np.int64]]:
    """Return a segment's attention between its words, and the words of the rows and of the keys, ascending."""
    axes = []
    for side in tokens:
        ids = side.on_host.word_ids[item][side.on_host.valid[item]][None]
        axes.append(word_axis(ids, torch.ones_like(ids, dtype=torch.bool)))
    queries, keys = axes
    # A learned sink, which is not a token, is the last key.
    of_tokens = weights[None, :, :, : keys.places.shape[1]]
    device = weights.device
    pooled = between_words(of_tokens, queries.to(device), keys.to(device))[0]
    kept, numbers = [], []
    for axis in axes:
        words = axis.words[0].numpy()
        order = np.argsort(words, kind="stable")
        order = order[words[order] != NO_WORD]
        kept.append(torch.from_numpy(order).to(device))
        numbers.append(words[order])
    return pooled[:, kept[0]][..., kept[1]], numbers[0], numbers[1]


def with_keys_permuted(
    rows: Float[Tensor, "head row key"], positions: NDArray[np.int64], *, causal: bool, seed: int, last: bool
) -> Float[Tensor, "head row key"]:
    """Permute the visible keys of each row, alike in all heads and in all rows at one position with that many keys.

    Args:
        rows: weights of some rows of a segment.
        positions: position of each row.
        causal: whether a row sees the keys up to its own position only.
        seed: seed of the permutations.
        last: whether the last key, which is not a word, stays.
    """
    keys = rows.shape[-1] - last
    order = np.tile(np.arange(rows.shape[-1]), (len(positions), 1))
    for row, position in enumerate(positions.tolist()):
        visible = min(position + 1, keys) if causal else keys
        order[row, :visible] = _permutation(position, visible, seed)
    index = torch.from_numpy(order).to(rows.device)
    return rows.gather(-1, index.expand_as(rows))


@lru_cache(maxsize=1 << 14)
def _permutation(position: int, keys: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, position, keys]).permutation(keys)
