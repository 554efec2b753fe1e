"""The rows of attention that two models share, the same rows with keys permuted, and the divergence of their heads."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distances.sums import SMOOTHING
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


_NUMBERS_AT_ONCE = 1 << 20
# Numbers of a block of heads in order: few enough for the cache of a CPU core, or many for an accelerator.
_IN_CACHE, _ON_DEVICE = 1 << 16, 1 << 26


def in_order(first: Float[Tensor, "head row key"], second: Float[Tensor, "head row key"]) -> Float64[Tensor, "head"]:
    """Sum over rows the divergence between each head of one model and the same head of the other, in nats.

    Args:
        first: weights of some rows, without padding.
        second: weights of the same rows in the other model.
    """
    size = _ON_DEVICE if first.device.type != "cpu" else _IN_CACHE
    height = max(1, size // max(1, first[0].numel()))
    parts = [slice(start, start + height) for start in range(0, len(first), height)]
    return torch.cat([_of_block(first[part], second[part]) for part in parts])


def _of_block(first: Tensor, second: Tensor) -> Tensor:
    """Sum over rows the divergence of a few heads: (sum p ln (p / m) + sum q ln (q / m)) / 2, m = (p + q) / 2.

    All but the sum over rows is computed in the weights' precision, at least float32; equal heads are exactly 0 apart.
    """
    p, q = _smooth(first), _smooth(second)
    middle = p.add(q).mul_(0.5)
    terms = p.div(middle).log_().mul_(p)
    terms.add_(torch.div(q, middle, out=middle).log_().mul_(q))
    return terms.sum(-1).mul_(0.5).clamp_min_(0.0).sum(-1, dtype=torch.float64)


def of_all_pairs(
    first: Float[Tensor, "first row key"], second: Float[Tensor, "second row key"]
) -> Float64[Tensor, "first second"]:
    """Sum over rows the divergence between each head of one model and each head of the other, in nats.

    With t = p + q, the divergence is (sum p ln p + sum q ln q - sum t ln t) / 2 + ln 2. Logarithms are computed in
    float32, sums in float64, which is exact to about 1e-7 nats.
    """
    p, q = _smooth(first), _smooth(second)
    alone_p, alone_q = (torch.special.xlogy(each, each).sum(-1, dtype=torch.float64) for each in (p, q))
    sums = torch.empty(len(p), len(q), dtype=torch.float64, device=p.device)
    height = max(1, _NUMBERS_AT_ONCE // max(1, q.numel()))
    for start in range(0, len(p), height):
        part = slice(start, start + height)
        both = p[part, None] + q
        joint = both.log().mul_(both).sum(-1, dtype=torch.float64)
        by_row = (alone_p[part, None] + alone_q - joint) / 2 + math.log(2)
        sums[part] = by_row.clamp_min_(0.0).sum(-1)
    return sums


def _smooth(rows: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key"]:
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    return rows.mul(1 - SMOOTHING).add_(SMOOTHING / rows.shape[-1])
