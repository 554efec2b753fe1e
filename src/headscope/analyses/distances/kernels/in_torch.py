"""The divergence between all pairs of heads in torch: for accelerators, and for the CPU without numba."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.analyses.distances.kernels.polynomial import SMOOTHING, fit_for, floor_of

# Floats of a buffer: what a CPU core takes from its cache without calling for others, or what keeps an accelerator
_CPU_BLOCK, _ACCELERATOR_BLOCK = 1 << 15, 1 << 24


def pair_sums(layers: Sequence[Float[Tensor, "head row key"]]) -> Float64[Tensor, "2 pair"]:
    """Sum the divergences of all pairs of heads over the rows of one segment.

    Args:
        layers: each layer's weights `[head, row, key]`, float32, without padding.

    Returns:
        The sum over rows and the sum of squares, pairs as in `numpy.triu_indices`; on the device of the weights.
    """
    weights = torch.cat(list(layers))
    total, rows, keys = weights.shape
    half = total // 2
    limit = _CPU_BLOCK if weights.device.type == "cpu" else _ACCELERATOR_BLOCK
    height = max(1, limit // max(1, total * keys))
    fit = fit_for(keys)
    shift, *powers = (weights.new_tensor(number) for number in (fit.shift, *fit.rest))
    # Each head and those that follow it around the circle of heads, half way: all pairs, in whole blocks.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        own = weights[:, start : start + height]
        roots = (own * (1 - SMOOTHING) + floor_of(keys)).sqrt_()
        fourth = roots.sqrt()
        # The first half of the heads once more, behind the last.
        roots, fourth, inverse = (torch.cat([f, f[:half]]) for f in (roots, fourth, fourth.reciprocal()))
        ratio, other, value = (torch.empty_like(own) for _ in range(3))
        for step in range(1, half + 1):
            near, far = slice(0, total), slice(step, step + total)
            torch.addcmul(shift, fourth[near], inverse[far], out=ratio)
            torch.addcmul(shift, inverse[near], fourth[far], out=other)
            torch.minimum(ratio, other, out=ratio)
            torch.addcmul(powers[-1], ratio, ratio, out=value)
            for power in powers[-2::-1]:
                torch.addcmul(power, value, ratio, out=value)
            torch.sub(roots[near], roots[far], out=other)
            by_row = value.mul_(other).mul_(other).sum(-1, dtype=torch.float64).mul_(fit.lead)
            sums[step - 1, 0] += by_row.sum(-1)
            sums[step - 1, 1] += by_row.square_().sum(-1)
    one, other_head = torch.triu_indices(total, total, 1, device=weights.device)
    apart = other_head - one
    forward = apart <= half
    head = torch.where(forward, one, other_head)
    steps = torch.where(forward, apart, total - apart)
    return sums.transpose(0, 1)[:, steps - 1, head]
