"""The Jensen-Shannon divergence between two heads, as a pure function (section 6)."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.analyses.distances.kernels.polynomial import SMOOTHING


def jensen_shannon(left: Float[Tensor, "*rows key"], right: Float[Tensor, "*rows key"]) -> Float64[Tensor, "*rows"]:
    """Jensen-Shannon divergence between rows of attention, in nats and float64: the definition (section 6).

    Weights are smoothed to 0.999 w + 0.001 / n, n the number of keys. The accumulator uses `pair_sums`, which is made
    for all pairs of many heads.
    """
    p, q = (SMOOTHING / rows.shape[-1] + (1 - SMOOTHING) * rows.double() for rows in (left, right))
    middle = (p + q) / 2
    return (p * torch.log(p / middle) + q * torch.log(q / middle)).sum(-1) / 2
