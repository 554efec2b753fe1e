"""The means of every head and of every layer's heads, with intervals over documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, Scale, mapped, ratio_interval
from headscope.statistics.sums.groups import with_layer_means


@dataclass(frozen=True, kw_only=True)
class HeadMeans:
    """Means of one kind of attention, for some columns (statistics, behaviors).

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        measure: one of `measures.MEASURES`.
        values: value of every head, then the layer's mean, `[layer, head + 1, column]`; NaN where it cannot occur.
        uniform: value under uniform attention over the visible keys in the same rows, `[layer, column]`.
        n: number of rows or segments behind each value, `[layer, head + 1, column]`; for the mean the largest.
        sums: sums behind the means in each document (or group of documents), `[group, layer, head, column]`.
        counts: number of rows or segments, shaped as `sums`; axes of size 1 where it is the same along them.
    """

    kind: str
    measure: str
    values: Interval
    uniform: NDArray[np.float64]
    n: NDArray[np.int64]
    sums: NDArray[np.float64]
    counts: NDArray[Any]

    @classmethod
    def of(
        cls,
        kind: str,
        measure: str,
        sums: NDArray[np.float64],
        counts: NDArray[Any],
        *,
        uniform: NDArray[np.float64],
        scales: Sequence[Scale],
    ) -> HeadMeans:
        """Compute the means, with their intervals over documents.

        Args:
            kind: as the attribute, and so are `measure`, `sums`, `counts` and `uniform`.
            measure: as the attribute.
            sums: as the attribute.
            counts: as the attribute.
            uniform: as the attribute.
            scales: scale of each column's values.
        """
        by_head = counts.shape[2] > 1
        values = _intervals(with_layer_means(sums), with_layer_means(counts) if by_head else counts, scales)
        number = counts.sum(0, dtype=np.int64)
        if by_head:
            number = np.concatenate([number, number.max(1, keepdims=True)], axis=1)
        return cls(
            kind=kind,
            measure=measure,
            values=values,
            uniform=uniform,
            n=np.broadcast_to(number, values.value.shape),
            sums=sums,
            counts=counts,
        )

    @property
    def heads(self) -> Interval:
        """The values of every head, `[layer, head, column]`."""
        return mapped(self.values, lambda ends: ends[:, :-1])


def _intervals(sums: NDArray[np.float64], counts: NDArray[Any], scales: Sequence[Scale]) -> Interval:
    """Return intervals of sums by group, `[group, ..., column]`, each on its column's scale."""
    ends = np.empty((3, *sums.shape[1:]))
    for scale in dict.fromkeys(scales):
        columns = [each == scale for each in scales]
        part = ratio_interval(sums[..., columns], counts[..., columns], scale=scale)
        ends[..., columns] = part.value, part.low, part.high
    return Interval(*ends)
