"""How often every head does how much: rows counted in fixed bins, by group of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.deciles import BinnedValues
from headscope.analyses.distribution.row_values import asked_rows, row_values
from headscope.analyses.distribution.scales import BINS, MEASURES, NAMES
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.distinct import Distinct
from headscope.statistics.kept import Declared, counted, largest

MOST_GROUPS, FEWEST_GROUPS = 32, 8
"""Groups of documents that are resampled: fewer than elsewhere, for each has a count a bin."""
_HEADS_OF_ALL = 4096  # heads times groups: 8 MiB of int32


def groups_for(layout: Sequence[KindLayout]) -> int:
    """Return how many groups of documents are kept apart: 32, of more than 128 heads fewer, 8 of 512 and more.

    A group's counts are 2 KiB a head: those of 1,024 heads are 16 MiB in all.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_GROUPS, max(FEWEST_GROUPS, _HEADS_OF_ALL // max(1, heads)))


@dataclass(frozen=True)
class DistributionResult:
    """How many rows of each head of a kind lie in each bin.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        counts: rows, `[group, layer, head, NAMES, BINS]`; none of a measure that a layer does not have.
        least, most: the smallest and the largest value in each bin, `[layer, head, NAMES, BINS]`; inf and -inf in one
            without rows.
        documents: how many the groups are of.
    """

    kind: str
    counts: NDArray[np.int32]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    documents: int

    def values(self, measure: int) -> BinnedValues:
        """Return all rows of a measure, by its place in `NAMES`, `[layer, head, BINS]`."""
        whole = self.counts[:, :, :, measure].sum(0, dtype=np.int64)
        return BinnedValues(whole, self.least[:, :, measure], self.most[:, :, measure])


class DistributionAccumulator(Accumulator):
    """Count the rows of every head by what each measure is there, by group of documents; keep the ends of each bin.

    All rows of all segments count equally, special tokens left out.

    Args:
        layout: the kinds of attention and their sizes.
        groups: of documents, for resampling; None for as many as `groups_for` says.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})
    version: ClassVar[int] = 2

    def __init__(self, layout: Sequence[KindLayout], *, groups: int | None = None) -> None:
        self.groups = groups_for(layout) if groups is None else groups
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep rows by head, measure and bin, and how far the values in a bin reach."""
        axes = ("layer", "head", len(NAMES), BINS)
        return {
            "rows": counted(*axes),
            "most": largest(*axes),
            "least_below_zero": largest(*axes),
            "documents": Distinct(FEWEST_DOCUMENTS),
        }

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows."""
        values, asked = row_values(tile), asked_rows(tile)
        batch, heads = next(iter(values.values())).shape[:2]
        whole = np.zeros((batch, heads, len(NAMES), BINS), dtype=np.int32)
        ends = np.full((2, heads, len(NAMES), BINS), -np.inf)
        for place, name in enumerate(NAMES):
            if name in values:
                own = values[name].clamp(min=0.0)
                bins = MEASURES[name].bins(own)
                whole[:, :, place] = _counts(bins, asked)
                ends[0, :, place], ends[1, :, place] = (_largest(each, bins, asked) for each in (own, -own))
        self.add(tile, rows=whole, most=ends[0], least_below_zero=ends[1])
        store = self.stores["documents"]
        assert isinstance(store, Distinct)
        store.add(tile.queries.documents)

    def compute(self) -> list[DistributionResult]:
        """Return the counts of each kind of attention."""
        stacked, store = self.sums.stacked(), self.stores["documents"]
        assert isinstance(store, Distinct)
        results = []
        for part in self.layout:
            counts = stacked[f"rows.{part.kind}"]
            least = -self.totals[f"least_below_zero.{part.kind}"]
            most = self.totals[f"most.{part.kind}"]
            results.append(DistributionResult(part.kind, counts, least, most, max(len(store), len(counts))))
        return results


def _counts(bins: torch.Tensor, asked: torch.Tensor) -> NDArray[np.int64]:
    """Count rows in bins, `[batch, head, BINS]`, from the bin of each, `[batch, head, row]`."""
    batch, heads, _ = bins.shape
    own = torch.arange(batch * heads, device=bins.device).view(batch, heads, 1) * BINS
    flat = (own + bins)[asked[:, None].expand_as(bins)]
    found = torch.bincount(flat, minlength=batch * heads * BINS)
    return np.asarray(found.view(batch, heads, BINS).cpu().numpy())


def _largest(values: torch.Tensor, bins: torch.Tensor, asked: torch.Tensor) -> NDArray[np.float64]:
    """Return the largest value in each bin of a head, `[head, BINS]`, -inf in one without rows; arguments as above."""
    heads = bins.shape[1]
    own = torch.arange(heads, device=bins.device).view(1, heads, 1) * BINS
    chosen = asked[:, None].expand_as(bins)
    found = torch.full((heads * BINS,), -torch.inf, dtype=torch.float64, device=bins.device)
    found.scatter_reduce_(0, (own + bins)[chosen], values.double()[chosen], "amax")
    return np.asarray(found.view(heads, BINS).cpu().numpy())
