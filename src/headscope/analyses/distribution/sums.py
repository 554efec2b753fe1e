"""The distribution of each measure over the rows of a head: counts in fixed bins, by group of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.tables import BINS, MEASURES, NAMES, content_rows, row_values
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import Distinct
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


DECILES = tuple(range(1, 10))
"""The nine deciles; a tenth of the rows is below the first."""
_HAIR = 1e-9  # tolerance in ranks, so that rounding does not move a whole rank


@dataclass(frozen=True)
class BinnedValues:
    """Values counted in bins, for many distributions at once.

    The smallest and the largest value of each bin are known, and so are their ranks. Quantiles are exact if a bin has a
    single distinct value.

    Attributes:
        counts: number of values in each bin, `[..., bin]`.
        least, most: the smallest and the largest value of each bin, `[..., bin]`; arbitrary in an empty bin.
    """

    counts: NDArray[Any]
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    def quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at given shares, `[..., share]`, assuming a uniform distribution within each bin.

        They interpolate between two values as numpy's quantiles do. NaN where nothing was counted, or where the share
        is NaN.
        """
        quantiles = np.full(shares.shape, np.nan)
        for index in np.ndindex(*self.counts.shape[:-1]):
            filled = np.flatnonzero(self.counts[index])
            if len(filled):
                upto = self.counts[index].cumsum()[filled]
                before = upto - self.counts[index][filled]
                ranks = np.stack([before, upto - 1], axis=1).reshape(-1)
                values = np.stack([self.least[index][filled], self.most[index][filled]], axis=1).reshape(-1)
                quantiles[index] = np.interp(shares[index] * (upto[-1] - 1), ranks, values)
        return quantiles

    def bins(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bins of the two values between which each quantile lies, `[..., share]`."""
        upto = self.counts.cumsum(-1)
        rank = shares * np.maximum(upto[..., -1:] - 1, 0)
        first, last = (
            (upto[..., None, :] > end(rank - _HAIR * side)[..., None]).argmax(-1)
            for end, side in ((np.floor, -1), (np.ceil, 1))
        )
        return first, last


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

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        super().begin(batch)
        self._ends: dict[str, dict[int, Tensor]] = {}
        self._copied: dict[str, OnHost] = {}

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows; the counts stay on their device until the batch ends."""
        values, content = row_values(tile), content_rows(tile)
        measures = [index for index, name in enumerate(NAMES) if name in values]
        nonnegative = torch.stack([values[NAMES[index]].clamp(min=0.0) for index in measures])
        bins = torch.stack(
            [MEASURES[NAMES[index]].bins(of_measure) for index, of_measure in zip(measures, nonnegative, strict=True)]
        )
        columns = sent(torch.tensor(measures), bins.device)[:, None, None, None]
        counts = _counts(bins, content, columns)
        if tile.queries.valid.shape[1] <= torch.iinfo(torch.int16).max:
            counts = counts.to(torch.int16)  # halves the memory until the batch ends
        self.segment_sums.add(tile, rows=counts)
        ends = _ends(nonnegative, bins, content, columns)
        layers = self._ends.setdefault(tile.kind, {})
        before = layers.get(tile.layer)
        layers[tile.layer] = ends if before is None else torch.maximum(before, ends)

    def hand_over(self, copy: HostCopy) -> None:
        """Have counts and ends copied to the host."""
        super().hand_over(copy)
        for kind, layers in self._ends.items():
            self._copied[kind] = copy.add(torch.stack([layers[layer] for layer in sorted(layers)]))

    def end(self, batch: Batch) -> None:
        """Add the batch's counts to its documents, and widen the bins' ends."""
        for kind, layers, (rows,) in self.segment_sums.by_kind("rows"):
            self.add_segments(batch, kind, layers, rows=rows)
            ends = self._copied[kind].array
            for name, largest_values in (("most", ends[:, 0]), ("least_below_zero", ends[:, 1])):
                whole = self.totals[f"{name}.{kind}"]
                whole[layers] = np.maximum(whole[layers], largest_values)
            self._documents.add(batch.info.documents)

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


def _counts(bins: Tensor, content: Tensor, columns: Tensor) -> Tensor:
    """Count rows by bin, `[batch, head, NAMES, BINS]` int32.

    Args:
        bins: bin of each measure and row, `[measure, batch, head, row]`.
        content: True for rows that are counted, `[batch, row]` bool.
        columns: index in `NAMES` of each measure, `[measure, 1, 1, 1]`.
    """
    batch, heads = bins.shape[1:3]
    number = batch * heads * len(NAMES) * BINS
    cells = torch.arange(batch * heads, device=bins.device).view(batch, heads, 1) * len(NAMES)
    slots = (cells + columns) * BINS + bins
    slots = slots.where(content[:, None], number)  # all other rows go to an additional last slot
    counts = torch.zeros(number + 1, dtype=torch.int32, device=bins.device)
    counts.scatter_add_(0, slots.flatten(), torch.ones((), dtype=torch.int32, device=bins.device).expand(slots.numel()))
    return counts[:-1].view(batch, heads, len(NAMES), BINS)


def _ends(values: Tensor, bins: Tensor, content: Tensor, columns: Tensor) -> Tensor:
    """Return the largest value in each bin of a head, and minus the smallest; -inf in bins without rows.

    Args:
        values: value of each measure and row, `[measure, batch, head, row]` float64.
        bins, content, columns: as in `_counts`.

    Returns:
        `[2, head, NAMES, BINS]` float64.
    """
    heads = bins.shape[2]
    number = heads * len(NAMES) * BINS
    cells = torch.arange(heads, device=bins.device)[:, None] * len(NAMES)
    slots = (cells + columns) * BINS + bins
    out = torch.full((2, number), -torch.inf, dtype=torch.float64, device=bins.device)
    for side, signed in zip(out, (values, -values), strict=True):
        side.scatter_reduce_(0, slots.flatten(), signed.where(content[:, None], -torch.inf).flatten(), "amax")
    return out.view(2, heads, len(NAMES), BINS)
