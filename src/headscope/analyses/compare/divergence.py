"""The Jensen-Shannon divergence between heads of two models, of heads in order and of all pairs."""

import math

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.analyses.distances.divergence import SMOOTHING, jensen_shannon

_NUMBERS_AT_ONCE = 1 << 20


def in_order(first: Float[Tensor, "head row key"], second: Float[Tensor, "head row key"]) -> Float64[Tensor, "head"]:
    """Sum over rows the divergence between each head of one model and the same head of the other, in nats.

    Args:
        first: weights of some rows, without padding.
        second: weights of the same rows in the other model.
    """
    return jensen_shannon(first, second).clamp_min_(0.0).sum(-1)


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
        joint = (both * both.log()).sum(-1, dtype=torch.float64)
        by_row = (alone_p[part, None] + alone_q - joint) / 2 + math.log(2)
        sums[part] = by_row.clamp_min_(0.0).sum(-1)
    return sums


def _smooth(rows: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key"]:
    return rows.float() * (1 - SMOOTHING) + SMOOTHING / rows.shape[-1]
