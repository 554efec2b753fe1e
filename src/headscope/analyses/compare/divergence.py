"""The Jensen-Shannon divergence between heads of two models, of heads in order and of all pairs."""

import math

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.analyses.distances.divergence import SMOOTHING

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
