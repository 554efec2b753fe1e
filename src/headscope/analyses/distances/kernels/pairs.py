"""The choice of the program for divergences: on the CPU a compiled one, where llvmlite is installed."""

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distances.kernels import in_torch as js_torch
from headscope.attention.host_copy import HostCopy, OnHost


def has_compiler() -> bool:
    """Return True if llvmlite is installed (the extra `fast`)."""
    return find_spec("llvmlite") is not None


def pair_sums(stacks: Sequence[Sequence[Tensor]], *, compiled: bool | None = None) -> list[NDArray[np.float64]]:
    """Sum the Jensen-Shannon divergence between all pairs of heads over the rows of each segment, in nats.

    Weights are smoothed to 0.999 w + 0.001 / n, n the number of keys. The relative error of a
    sum is below 1e-5, however small it is, apart from the rounding of the weights.

    Args:
        stacks: for each segment its layers' weights `[head, row, key]`, without padding.
        compiled: True for the compiled program, False for torch; by default the compiled one if available.

    Returns:
        For each segment the sum over rows and the sum of the rows' squares, `[2, pair]`; pairs of heads in the
        order of `numpy.triu_indices`, heads layer by layer.
    """
    copy = HostCopy()
    sums = handed_over(stacks, copy, compiled=compiled)
    copy.fetch()
    return [each.array for each in sums]


def handed_over(stacks: Sequence[Sequence[Tensor]], copy: HostCopy, *, compiled: bool | None = None) -> list[OnHost]:
    """Compute `pair_sums`, and have the sums copied to the host with the other results of the batch.

    Args:
        stacks, compiled: as in `pair_sums`.
        copy: copy of the batch's results to the host.
    """
    if not stacks:
        return []
    single = [[layer.float() for layer in layers] for layers in stacks]
    on_cpu = single[0][0].device.type == "cpu"
    if on_cpu and (has_compiler() if compiled is None else compiled):
        from headscope.analyses.distances.kernels import compiled as js_compiled

        return [copy.add(torch.from_numpy(sums)) for sums in js_compiled.pair_sums(single)]
    return [copy.add(js_torch.pair_sums(layers)) for layers in single]
