"""What is measured of every row of a head, and the fixed bins that its values are counted in."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BINS = 128
"""Of a measure at most."""
# A value so little below an edge is on it: in float32 another batch moves it by less.
_ROUNDING = 1e-6
Edges = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RowMeasure:
    """A number that every row of a head has, and its bins: narrow where values pile up.

    Attributes:
        name: in tables.
        label: in headings.
        meaning: exactly, for definitions and the glossary.
        unit: of its values.
        edges: where each bin begins, from 0 up, and where the last would end: it is open.
        logarithmic: whether it is drawn on a logarithmic axis.
    """

    name: str
    label: str
    meaning: str
    unit: str
    edges: Edges
    logarithmic: bool = False

    def bins(self, values: Tensor) -> Tensor:
        """Return the bin of each value, int64; what is below 0 by rounding is in the first."""
        inner = torch.as_tensor(self.edges[1:-1], device=values.device)
        return torch.bucketize(
            (values.double() * (1 + _ROUNDING)).nan_to_num(0.0).contiguous(), inner, right=True
        )


def _octaves(first: int, last: int, an_octave: int) -> Edges:
    """Return powers of two from 2^first to 2^last, so many to a doubling."""
    return np.asarray(2.0 ** (first + np.arange((last - first) * an_octave + 1) / an_octave))


def _share_edges() -> Edges:
    """Halve the bins toward 0 and toward 1, where a head's rows pile up; 101 of equal width between."""
    ends = np.concatenate([[0.0], _octaves(-18, -6, 1)])
    # An odd number, so that a half is no edge.
    between = np.linspace(ends[-1], 1 - ends[-1], 102)
    return np.concatenate([ends[:-1], between, 1 - ends[-2::-1]])


def _distance_edges() -> Edges:
    """Three bins to a doubling, and narrow ones around the whole numbers that heads look away by."""
    around = {1: range(3, 15), 2: range(4, 12, 2), 3: range(4, 12, 2), 4: (8,), 5: (8,), 6: (8,)}
    narrow = [
        number + side * 2.0**-power
        for number, powers in around.items()
        for power in powers
        for side in (-1, 1)
    ]
    wide = _octaves(-4, 17, 3)
    whole = np.array(list(around))
    wide = wide[np.abs(wide[:, None] - whole).min(1) > 2.0**-3]
    return np.sort(np.concatenate([[0.0], narrow, wide]))


_EVERY = (
    RowMeasure(
        name="written",
        label="written",
        meaning="the length of what the head adds to the stream at the row, |Σ a f|",
        unit="length of a vector of the stream",
        edges=np.concatenate([[0.0], _octaves(-10, 11, 6)]),
        logarithmic=True,
    ),
    RowMeasure(
        name="content",
        label="off the sink",
        meaning="weight on neither the first token (cls, bos), nor a separator, nor a learned sink",
        unit="share",
        edges=_share_edges(),
    ),
    RowMeasure(
        name="entropy",
        label="entropy",
        meaning="-sum w ln w",
        unit="nats",
        edges=np.concatenate([[0.0], _octaves(-16, -4, 2), np.arange(1, 103) / 10]),
    ),
    RowMeasure(
        name="distance",
        label="distance",
        meaning="how many tokens the key is away from the row, before or after it: the mean by weight",
        unit="tokens",
        edges=_distance_edges(),
        logarithmic=True,
    ),
)  # fmt: skip
MEASURES: Mapping[str, RowMeasure] = {one.name: one for one in _EVERY}
NAMES = tuple(MEASURES)
"""The order of the measures in arrays."""
