"""What is measured of every row of a head, and the fixed bins that its values are counted in."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BINS = 128
# A value so little below an edge, in bins, is on it: in float32 another batch moves it by less.
_ROUNDING = 1e-5


@dataclass(frozen=True, kw_only=True)
class RowMeasure:
    """A number that every row of a head has, and its bins.

    Attributes:
        name: in tables.
        label: in headings.
        meaning: exactly, for definitions and the glossary.
        unit: of its values.
        an_octave: bins to a doubling, where they are logarithmic: the first holds what lies below `first`; else None.
        first: where the second bin of logarithmic ones begins, else the width of a bin. The last bin is open.
    """

    name: str
    label: str
    meaning: str
    unit: str
    first: float
    an_octave: int | None = None

    def bins(self, values: Tensor) -> Tensor:
        """Return the bin of each value, int64; what is below 0 by rounding is in the first."""
        if self.an_octave is None:
            places = torch.floor(values / self.first + _ROUNDING)
        else:
            # Of 0 the logarithm is -inf: the first bin.
            places = 1 + torch.floor(self.an_octave * torch.log2(values / self.first) + _ROUNDING)
        return places.nan_to_num(0.0).clamp(0, BINS - 1).long()

    @property
    def edges(self) -> NDArray[np.float64]:
        """Where each bin begins, and where the last would end, `[BINS + 1]`."""
        places = np.arange(BINS + 1)
        if self.an_octave is None:
            return np.asarray(places * self.first, dtype=np.float64)
        edges = self.first * 2.0 ** ((places - 1) / self.an_octave)
        return np.asarray(np.where(places == 0, 0.0, edges), dtype=np.float64)


_EVERY = (
    RowMeasure(
        name="written",
        label="written",
        meaning="the length of what the head adds to the stream at the row, |Σ a f|",
        unit="length of a vector of the stream",
        first=2.0**-10,
        an_octave=6,
    ),
    RowMeasure(
        name="content",
        label="off the sink",
        meaning="weight on neither the first token (cls, bos), nor a separator, nor a learned sink",
        unit="share",
        first=1 / BINS,
    ),
    RowMeasure(
        name="entropy",
        label="entropy",
        meaning="-sum w ln w",
        unit="nats",
        first=0.1,
    ),
    RowMeasure(
        name="distance",
        label="distance",
        meaning="how many tokens the key is away from the row, before or after it: the mean by weight",
        unit="tokens",
        first=2.0**-4,
        an_octave=6,
    ),
)  # fmt: skip
MEASURES: Mapping[str, RowMeasure] = {one.name: one for one in _EVERY}
NAMES = tuple(MEASURES)
"""The order of the measures in arrays."""
