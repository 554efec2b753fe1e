"""The Jensen-Shannon divergence between heads (section 6), of one pair and of all pairs.

With m = (p + q) / 2, the divergence is (sum p ln p + sum q ln q) / 2 - sum m ln m, of which only sum m ln m is computed
for each pair of heads. A CPU computes in float32, in half the time of float64 and with errors below 5e-7 nats; equal
heads are exactly 0 apart, because m ln m is then the same number as p ln p.
"""

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
_ROUNDING = 1e-14  # a divergence up to this, or a negative one, is the rounding of entropies: the heads are equal


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
    on_cpu = weights.device.type == "cpu"
    limit, precision = (_CPU_BLOCK, torch.float32) if on_cpu else (_ACCELERATOR_BLOCK, torch.float64)
    height = max(1, limit // max(1, total * keys))
    # Each head is paired with the following half of the circle of heads, which gives every pair once.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        halves = (_smooth(weights[:, start : start + height]) / 2).to(precision)
        # The first half of the heads is repeated behind the last, which closes the circle.
        halves = torch.cat([halves, halves[:half]])
        # Several steps around the circle fill a buffer; each is a window onto the same memory.
        at_once = max(1, min(half + 1, limit // max(1, total * halves[0].numel())))
        middle, logs = (halves.new_empty((at_once, total, *halves.shape[1:])) for _ in range(2))
        joint = sums.new_empty((half + 1, total, halves.shape[1]))
        # Step 0 pairs each head with itself.
        for first in range(0, half + 1, at_once):
            steps = min(at_once, half + 1 - first)
            torch.add(halves[:total], _windows(halves, first, steps, total), out=middle[:steps])
            torch.log(middle[:steps], out=logs[:steps])
            joint[first : first + steps] = logs[:steps].mul_(middle[:steps]).sum(-1)
        alone = torch.cat([joint[0], joint[0, :half]])
        by_row = (alone[:total] + _windows(alone, 1, half, total)).div_(2).sub_(joint[1:])
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
