"""Arcs of a batch, summed by document and cell before they are added to the totals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encoding.segment import sent
from headscope.statistics.sums.groups import GroupedSums


@dataclass(frozen=True, eq=False)
class ArcRuns:
    """The pairs of document and cell under which a batch's arcs are counted, sorted.

    Attributes:
        run_of: index of the pair of each arc, `[arc]`.
        documents: index of the document of each pair, `[run]`.
        cells: cell of each pair, `[run]`.
    """

    run_of: NDArray[np.int64]
    documents: NDArray[np.int64]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, documents: NDArray[np.int64], cells: NDArray[np.int64]) -> "ArcRuns":
        """Number the pairs of `documents` and `cells`, both `[arc]`."""
        width = int(cells.max(initial=0)) + 1
        pairs, run_of = np.unique(documents * width + cells, return_inverse=True)
        return cls(run_of, pairs // width, pairs % width)

    def sums(self, values: Tensor) -> Tensor:
        """Sum `[arc, ...]` to `[run, ...]`."""
        return sum_runs(values, self.run_of, len(self.cells))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of arcs of each pair, `[run]`."""
        return np.bincount(self.run_of, minlength=len(self.cells))

    def add_to(self, store: GroupedSums, documents: Sequence[str], **sums: NDArray[Any]) -> None:
        """Add sums, `[run, ...]` by name in the store, to the documents with these ids."""
        ends = np.searchsorted(self.documents, np.arange(len(documents) + 1)).tolist()
        for document, span in zip(documents, pairwise(ends), strict=True):
            run = slice(*span)
            store.add_at(document, self.cells[run], **{name: values[run] for name, values in sums.items()})


def sum_runs(values: Tensor, run_of: NDArray[np.int64], number: int) -> Tensor:
    """Sum `[arc, ...]` to `[run, ...]`; True counts as 1, and float32 is exact far beyond the size of a batch."""
    flat = values.flatten(1)
    flat = flat.float() if flat.dtype == torch.bool else flat
    total = torch.zeros((number, flat.shape[1]), dtype=flat.dtype, device=flat.device)
    total.index_add_(0, sent(torch.from_numpy(run_of), flat.device), flat)
    return total.reshape(number, *values.shape[1:])
