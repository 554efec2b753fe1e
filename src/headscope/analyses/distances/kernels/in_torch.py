"""The divergence between all pairs of heads in torch: for accelerators, and for the CPU without llvmlite."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.analyses.distances.kernels.polynomial import SMOOTHING, fit_for, floor_of

# Floats of a buffer: small enough for the cache of a CPU core, or large enough to keep an accelerator busy.
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
    # One copy to the device for all coefficients.
    shift, *powers = weights.new_tensor((fit.shift, *fit.rest)).unbind()
    # Each head is paired with the following half of the circle of heads, which gives every pair once.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        chunk = weights[:, start : start + height]
        roots = (chunk * (1 - SMOOTHING) + floor_of(keys)).sqrt_()
        fourth = roots.sqrt()
        # The first half of the heads is repeated behind the last, which closes the circle.
        roots, fourth, inverse = (torch.cat([f, f[:half]]) for f in (roots, fourth, fourth.reciprocal()))
        # Several steps around the circle fill a buffer; each is a window onto the same memory.
        at_once = max(1, min(half, limit // max(1, chunk.numel())))
        ratio, other, value = (chunk.new_empty((at_once, *chunk.shape)) for _ in range(3))
        for first in range(1, half + 1, at_once):
            steps_at_once = min(at_once, half + 1 - first)
            r, o, v = ratio[:steps_at_once], other[:steps_at_once], value[:steps_at_once]
            far_roots, far_fourth, far_inverse = (
                _windows(f, first, steps_at_once, total) for f in (roots, fourth, inverse)
            )
            torch.addcmul(shift, fourth[:total], far_inverse, out=r)
            torch.addcmul(shift, inverse[:total], far_fourth, out=o)
            torch.minimum(r, o, out=r)
            torch.addcmul(powers[-1], r, r, out=v)
            for power in powers[-2::-1]:
                torch.addcmul(power, v, r, out=v)
            torch.sub(roots[:total], far_roots, out=o)
            by_row = v.mul_(o).mul_(o).sum(-1, dtype=torch.float64).mul_(fit.lead)
            done = sums[first - 1 : first - 1 + steps_at_once]
            done[:, 0] += by_row.sum(-1)
            done[:, 1] += by_row.square_().sum(-1)
    first_head, second_head = torch.triu_indices(total, total, 1, device=weights.device)
    apart = second_head - first_head
    forward = apart <= half
    head = torch.where(forward, first_head, second_head)
    steps = torch.where(forward, apart, total - apart)
    return sums.transpose(0, 1)[:, steps - 1, head]


def _windows(features: Tensor, first: int, number: int, size: int) -> Tensor:
    """Return `size` heads of `[head, row, key]` from each of `number` heads on, `[number, size, row, key]`: a view."""
    heads, rows, keys = features.stride()
    start = features[first:]
    return start.as_strided((number, size, *features.shape[1:]), (heads, heads, rows, keys), start.storage_offset())
