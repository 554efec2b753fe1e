"""The distances between heads of one kind of attention."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class DivergenceResult:
    """Jensen-Shannon divergences between all heads of a kind (paper section 6), in nats, averaged over rows.

    Heads are laid out layer by layer: position `layer * heads + head`, both 0-based.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        layers: number of layers.
        heads: heads in each layer.
        divergence: mean over all rows of all segments, symmetric with a zero diagonal, `[head, head]`.
        sampling_error: standard error due to reading a sample of rows; 0 if all were read, `[head, head]`.
        n: number of rows of all segments, read or represented by a sample.
        rows_read: number of rows that were read.
        segments: number of segments.
        group_sums: sum over rows by group of documents, `[group, head, head]`.
        group_rows: rows by group, `[group]`.
        documents: number of documents in the groups; beyond 10 it may be the number of groups.
    """

    kind: str
    layers: int
    heads: int
    divergence: NDArray[np.float64]
    sampling_error: NDArray[np.float64]
    n: int
    rows_read: int
    segments: int
    group_sums: NDArray[np.float64]
    group_rows: NDArray[np.float64]
    documents: int

    @property
    def layer_of(self) -> NDArray[np.int64]:
        """The 0-based layer of each head, `[head]`."""
        return np.repeat(np.arange(self.layers), self.heads)

    def resampled(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the divergence with groups of documents weighted by counts, `[head, head]`.

        Args:
            counts: number of times that each group was drawn, `[group]`; not all zero where there are rows.
        """
        weight = np.asarray(counts, dtype=np.float64)
        total: NDArray[np.float64] = np.tensordot(weight, self.group_sums, axes=1)
        return total / max(float(weight @ self.group_rows), 1.0)
