"""The divergence between all pairs of heads of one segment, compiled for the host's processor.

Sixteen rows are processed at a time, one per lane; keys are processed in chunks and heads in blocks, so that the data
stay in the caches. Heads form a circle, and each head is paired with the half of the circle that follows it, so every
pair occurs once, in runs of six.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distances.kernels.lanes import ABREAST, FEATURES, KEYS
from headscope.analyses.distances.kernels.polynomial import SMOOTHING, fit_for, floor_of
from headscope.analyses.distances.kernels.program import sixteen_rows
from headscope.analyses.distances.kernels.vectors import LANES


def partners(heads: int) -> int:
    """Return the number of partners of a head: half of the other heads, rounded up to whole runs."""
    return -(-(heads // 2) // ABREAST) * ABREAST


class Scratch:
    """A thread's working memory, aligned to a cache line: a vector across two lines costs twice.

    Args:
        heads: number of heads of all layers.
    """

    def __init__(self, heads: int) -> None:
        self.heads = heads
        self.features = _aligned((heads + ABREAST - 1) * KEYS * FEATURES)
        self.sums = _aligned(heads * partners(heads) * LANES)
        self.corner = _aligned(LANES * KEYS)


def _aligned(floats: int) -> NDArray[np.float32]:
    room = np.zeros(floats + 16, dtype=np.float32)
    start = (-room.ctypes.data % 64) // 4
    return room[start : start + floats]


class _Segment:
    """A segment's weights as arguments of the compiled program, and memory for its sums."""

    def __init__(self, layers: Sequence[Tensor]) -> None:
        self.layers = [_side_by_side(layer) for layer in layers]  # kept alive, because the program has their addresses
        self.heads, self.rows, self.keys = layers[0].shape
        self.addresses = np.array([layer.data_ptr() for layer in self.layers], dtype=np.int64)
        self.strides = np.array([layer.stride()[:2] for layer in self.layers], dtype=np.int64)
        total = self.heads * len(layers)
        shape = (-(-self.rows // LANES), 2, total * partners(total))
        self.sums = np.empty(shape)
        fit = fit_for(self.keys)
        self.lead = fit.lead
        self.fit = np.array([fit.shift, *fit.rest], dtype=np.float32)
        self.program = sixteen_rows(len(self.fit))  # compiled before threads share it

    def add(self, group: int, scratch: Scratch) -> None:
        first = group * LANES
        total = self.heads * len(self.layers)
        heads = (total, self.heads, partners(total))
        rows = (first, min(LANES, self.rows - first))
        smoothing = (1 - SMOOTHING, floor_of(self.keys))
        memory = (scratch.features, scratch.sums, scratch.corner)
        layers = (self.addresses, self.strides)
        self.program(*layers, *heads, *rows, self.keys, *smoothing, self.fit, *memory, *self.sums[group])

    def pairs(self) -> NDArray[np.float64]:
        """Return sums and sums of squares over rows, `[2, pair]`; groups are added in a fixed order."""
        sums: NDArray[np.float64] = self.sums.sum(0)[:, _positions(self.heads * len(self.layers))]
        sums *= np.array([[self.lead], [self.lead**2]])
        return sums


@cache
def _positions(heads: int) -> NDArray[np.int64]:
    """Return the index of each pair among heads and their partners; pairs as in `numpy.triu_indices`."""
    first, second = np.triu_indices(heads, 1)
    forward = second - first <= heads // 2
    head, step = np.where(forward, first, second), np.where(forward, second - first, heads - second + first)
    positions: NDArray[np.int64] = head * partners(heads) + step - 1
    return positions


def pair_sums(stacks: Sequence[Sequence[Tensor]]) -> list[NDArray[np.float64]]:
    """Sum the divergences of all pairs of heads over rows, with as many threads as torch uses.

    Args:
        stacks: for each segment its layers' weights `[head, row, key]`, float32 on the CPU, without padding.

    Returns:
        For each segment the sum over rows and the sum of squares, `[2, pair]`, pairs as in `numpy.triu_indices`.
    """
    segments = [_Segment(layers) for layers in stacks]
    work = iter([(segment, group) for segment in segments for group in range(len(segment.sums))])
    lock = Lock()

    def drain() -> None:
        scratch: Scratch | None = None
        for segment, group in _shared(work, lock):
            # The number of heads differs only between kinds of attention.
            heads = segment.heads * len(segment.layers)
            if scratch is None or scratch.heads != heads:
                scratch = Scratch(heads)
            segment.add(group, scratch)

    threads = torch.get_num_threads()
    if threads == 1:
        drain()
    else:
        with ThreadPoolExecutor(threads - 1) as pool:
            helpers = [pool.submit(drain) for _ in range(threads - 1)]
            drain()
            for helper in helpers:
                helper.result()
    return [segment.pairs() for segment in segments]


def _shared(work: Iterator[Any], lock: Lock) -> Iterator[Any]:
    """Draw from an iterator that several threads draw from."""
    while True:
        with lock:
            item = next(work, None)
        if item is None:
            return
        yield item


def _side_by_side(layer: Tensor) -> Tensor:
    return layer if layer.stride(2) == 1 or layer.shape[2] == 1 else layer.contiguous()
