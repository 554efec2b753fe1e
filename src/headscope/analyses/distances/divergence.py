"""The Jensen-Shannon divergence between heads (section 6), of one pair and of all pairs, in float64.

With t = p + q, the divergence is (sum p ln p + sum q ln q - sum t ln t + ln 2 sum t) / 2, of which only sum t ln t is
computed for each pair of heads. In float32 a difference of entropies would be off by 2e-4 where the divergence is 1e-4.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import threshold

from headscope.attention.host_copy import HostCopy, OnHost

SMOOTHING = 0.001
"""Share of uniform attention that is mixed into each row, as in the original."""
# Numbers of a buffer: few enough for the cache of a CPU core, or many enough to keep an accelerator busy.
_CPU_BLOCK, _ACCELERATOR_BLOCK = 1 << 16, 1 << 24
_ROUNDING = 1e-14  # a divergence up to this, of either sign, is the rounding of entropies: the heads are equal


def jensen_shannon(left: Float[Tensor, "*rows key"], right: Float[Tensor, "*rows key"]) -> Float64[Tensor, "*rows"]:
    """Compute the Jensen-Shannon divergence between rows of attention, in nats: the definition (section 6).

    Weights are smoothed to 0.999 w + 0.001 / n, n the number of keys. The accumulator uses `pair_sums`, which is made
    for all pairs of many heads.
    """
    p, q = _smooth(left), _smooth(right)
    middle = (p + q) / 2
    return (p * torch.log(p / middle) + q * torch.log(q / middle)).sum(-1) / 2


def pair_sums(stacks: Sequence[Sequence[Tensor]]) -> list[NDArray[np.float64]]:
    """Sum the divergence between all pairs of heads over the rows of each segment.

    Args:
        stacks: for each segment its layers' weights `[head, row, key]`, without padding.

    Returns:
        For each segment the sum over rows and the sum of the rows' squares, `[2, pair]`; pairs of heads in the
        order of `numpy.triu_indices`, heads layer by layer.
    """
    copy = HostCopy()
    sums = handed_over(stacks, copy)
    copy.fetch()
    return [each.array for each in sums]


def handed_over(stacks: Sequence[Sequence[Tensor]], copy: HostCopy) -> list[OnHost]:
    """Compute `pair_sums`, and have the sums copied to the host with the other results of the batch.

    Args:
        stacks: as in `pair_sums`.
        copy: copy of the batch's results to the host.
    """
    return [copy.add(_pair_sums(torch.cat(list(layers)))) for layers in stacks]


def _pair_sums(weights: Float[Tensor, "head row key"]) -> Float64[Tensor, "2 pair"]:
    """Sum the divergences of one segment, and their squares; on the device of the weights."""
    total, rows, keys = weights.shape
    half = total // 2
    limit = _CPU_BLOCK if weights.device.type == "cpu" else _ACCELERATOR_BLOCK
    height = max(1, limit // max(1, total * keys))
    # Each head is paired with the following half of the circle of heads, which gives every pair once.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        smooth = _smooth(weights[:, start : start + height])
        alone = (smooth * smooth.log()).sum(-1) + math.log(2) * smooth.sum(-1)
        # The first half of the heads is repeated behind the last, which closes the circle.
        smooth, alone = (torch.cat([each, each[:half]]) for each in (smooth, alone))
        # Several steps around the circle fill a buffer; each is a window onto the same memory.
        at_once = max(1, min(half, limit // max(1, total * smooth[0].numel())))
        both, logs = (smooth.new_empty((at_once, total, *smooth.shape[1:])) for _ in range(2))
        joint = smooth.new_empty((half, total, smooth.shape[1]))
        for first in range(0, half, at_once):
            steps = min(at_once, half - first)
            torch.add(smooth[:total], _windows(smooth, first + 1, steps, total), out=both[:steps])
            torch.log(both[:steps], out=logs[:steps])
            torch.sum(logs[:steps].mul_(both[:steps]), -1, out=joint[first : first + steps])
        by_row = (alone[:total] + _windows(alone, 1, half, total)).sub_(joint).div_(2)
        threshold(by_row, _ROUNDING, 0.0, inplace=True)
        sums[:, 0] += by_row.sum(-1)
        sums[:, 1] += by_row.square_().sum(-1)
    first_head, second_head = torch.triu_indices(total, total, 1, device=weights.device)
    apart = second_head - first_head
    forward = apart <= half
    head = torch.where(forward, first_head, second_head)
    step = torch.where(forward, apart, total - apart)
    return sums.transpose(0, 1)[:, step - 1, head]


def _smooth(rows: Float[Tensor, "*rows key"]) -> Float64[Tensor, "*rows key"]:
    return rows.double() * (1 - SMOOTHING) + SMOOTHING / rows.shape[-1]


def _windows(features: Tensor, first: int, number: int, size: int) -> Tensor:
    """Return `size` heads of `[head, ...]` from each of `number` heads on, `[number, size, ...]`: a view."""
    strides, start = features.stride(), features[first:]
    return start.as_strided((number, size, *features.shape[1:]), (strides[0], *strides), start.storage_offset())
