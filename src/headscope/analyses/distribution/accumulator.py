"""The distribution of each measure over the rows of a head: counts in fixed bins, by group of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.deciles import BinnedValues
from headscope.analyses.distribution.row_measures import BINS, MEASURES, NAMES
from headscope.analyses.distribution.row_values import content_rows, row_values
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.distinct import Distinct
from headscope.statistics.sums.kept import Declared, counted, largest

MOST_GROUPS, FEWEST_GROUPS = 32, 8
"""Number of groups of documents; fewer than elsewhere, because each group has a count per bin."""
_HEADS_OF_ALL = 4096  # heads times groups: 8 MiB of int32


def groups_for(layout: Sequence[KindLayout]) -> int:
    """Return the number of groups of documents: 32, fewer for more than 128 heads, 8 for 512 heads or more.

    Counts take 2 KiB per group and head, 16 MiB for 1,024 heads.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_GROUPS, max(FEWEST_GROUPS, _HEADS_OF_ALL // max(1, heads)))


@dataclass(frozen=True)
class DistributionResult:
    """Counts of the rows of each head of a kind, by bin.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        counts: number of rows, `[group, layer, head, NAMES, BINS]`; 0 for a measure that a layer does not have.
        least, most: the smallest and the largest value in each bin, `[layer, head, NAMES, BINS]`; inf and -inf in a
            bin without rows.
        documents: number of documents in the groups.
    """

    kind: str
    counts: NDArray[np.int32]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    documents: int

    def values(self, measure: int) -> BinnedValues:
        """Return the binned values of a measure, given by its index in `NAMES`, `[layer, head, BINS]`."""
        whole = self.counts[:, :, :, measure].sum(0, dtype=np.int64)
        return BinnedValues(whole, self.least[:, :, measure], self.most[:, :, measure])


class DistributionAccumulator(Accumulator):
    """Counts the rows of every head by bin of each measure and group of documents, and keeps the ends of each bin.

    All rows of all segments count equally. Special tokens are left out.

    Args:
        layout: the kinds of attention and their sizes.
        groups: number of groups of documents for intervals; by default that of `groups_for`.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})
    version: ClassVar[int] = 2

    def __init__(self, layout: Sequence[KindLayout], *, groups: int | None = None) -> None:
        self.groups = groups_for(layout) if groups is None else groups
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare counts by head, measure and bin, and the extreme values of each bin."""
        axes = ("layer", "head", len(NAMES), BINS)
        self._documents = Distinct(FEWEST_DOCUMENTS)
        return {
            "rows": counted(*axes),
            "most": largest(*axes),
            "least_below_zero": largest(*axes),
            "documents": self._documents,
        }

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows."""
        values, content = row_values(tile), content_rows(tile)
        batch, heads = next(iter(values.values())).shape[:2]
        whole = np.zeros((batch, heads, len(NAMES), BINS), dtype=np.int32)
        ends = np.full((2, heads, len(NAMES), BINS), -np.inf)
        for index, name in enumerate(NAMES):
            if name in values:
                nonnegative = values[name].clamp(min=0.0)
                bins = MEASURES[name].bins(nonnegative)
                whole[:, :, index] = _counts(bins, content)
                ends[0, :, index], ends[1, :, index] = (
                    _largest(each, bins, content) for each in (nonnegative, -nonnegative)
                )
        self.add(tile, rows=whole, most=ends[0], least_below_zero=ends[1])
        self._documents.add(tile.queries.documents)

    def compute(self) -> list[DistributionResult]:
        """Return the counts of each kind of attention."""
        stacked = self.sums.stacked()
        return [
            DistributionResult(
                kind,
                counts := stacked[f"rows.{kind}"],
                -self.totals[f"least_below_zero.{kind}"],
                self.totals[f"most.{kind}"],
                max(len(self._documents), len(counts)),
            )
            for kind in (part.kind for part in self.layout)
        ]


def _counts(bins: torch.Tensor, content: torch.Tensor) -> NDArray[np.int64]:
    """Count rows by bin, `[batch, head, BINS]`.

    Args:
        bins: of each row, `[batch, head, row]`.
        content: rows that count, `[batch, row]` bool.
    """
    batch, heads, _ = bins.shape
    offsets = torch.arange(batch * heads, device=bins.device).view(batch, heads, 1) * BINS
    flat = (offsets + bins)[content[:, None].expand_as(bins)]
    counts = torch.bincount(flat, minlength=batch * heads * BINS)
    return np.asarray(counts.view(batch, heads, BINS).cpu().numpy())


def _largest(values: torch.Tensor, bins: torch.Tensor, content: torch.Tensor) -> NDArray[np.float64]:
    """Return the largest value in each bin of a head, `[head, BINS]`, -inf in a bin without rows; see `_counts`."""
    heads = bins.shape[1]
    offsets = torch.arange(heads, device=bins.device).view(1, heads, 1) * BINS
    inside = content[:, None].expand_as(bins)
    largest_values = torch.full((heads * BINS,), -torch.inf, dtype=torch.float64, device=bins.device)
    largest_values.scatter_reduce_(0, (offsets + bins)[inside], values.double()[inside], "amax")
    return np.asarray(largest_values.view(heads, BINS).cpu().numpy())
