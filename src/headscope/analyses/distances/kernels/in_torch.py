"""The divergence between all pairs of heads in torch: for accelerators, and for the CPU without llvmlite."""

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
    # In one copy to the device.
    shift, *powers = weights.new_tensor((fit.shift, *fit.rest)).unbind()
    # Each head and those that follow it around the circle of heads, half way: all pairs, in whole blocks.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        own = weights[:, start : start + height]
        roots = (own * (1 - SMOOTHING) + floor_of(keys)).sqrt_()
        fourth = roots.sqrt()
        # The first half of the heads once more, behind the last.
        roots, fourth, inverse = (torch.cat([f, f[:half]]) for f in (roots, fourth, fourth.reciprocal()))
        # Several steps around the circle at once, as many as fill a buffer: each is a window onto the same memory.
        at_once = max(1, min(half, limit // max(1, own.numel())))
        ratio, other, value = (own.new_empty((at_once, *own.shape)) for _ in range(3))
        for first in range(1, half + 1, at_once):
            number = min(at_once, half + 1 - first)
            r, o, v = ratio[:number], other[:number], value[:number]
            far_roots, far_fourth, far_inverse = (
                _windows(f, first, number, total) for f in (roots, fourth, inverse)
            )
            torch.addcmul(shift, fourth[:total], far_inverse, out=r)
            torch.addcmul(shift, inverse[:total], far_fourth, out=o)
            torch.minimum(r, o, out=r)
            torch.addcmul(powers[-1], r, r, out=v)
            for power in powers[-2::-1]:
                torch.addcmul(power, v, r, out=v)
            torch.sub(roots[:total], far_roots, out=o)
            by_row = v.mul_(o).mul_(o).sum(-1, dtype=torch.float64).mul_(fit.lead)
            done = sums[first - 1 : first - 1 + number]
            done[:, 0] += by_row.sum(-1)
            done[:, 1] += by_row.square_().sum(-1)
    one, other_head = torch.triu_indices(total, total, 1, device=weights.device)
    apart = other_head - one
    forward = apart <= half
    head = torch.where(forward, one, other_head)
    steps = torch.where(forward, apart, total - apart)
    return sums.transpose(0, 1)[:, steps - 1, head]


def _windows(features: Tensor, first: int, number: int, size: int) -> Tensor:
    """Return `size` heads of `[head, row, key]` from each of `number` heads on, `[number, size, row, key]`: a view."""
    heads, rows, keys = features.stride()
    own = features[first:]
    return own.as_strided(
        (number, size, *features.shape[1:]), (heads, heads, rows, keys), own.storage_offset()
    )
