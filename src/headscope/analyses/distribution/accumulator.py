"""How often every head does how much: rows counted in fixed bins, by group of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.row_values import asked_rows, row_values
from headscope.analyses.distribution.scales import BINS, MEASURES, NAMES
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.distinct import Distinct
from headscope.statistics.kept import Declared, counted

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
        documents: how many the groups are of.
    """

    kind: str
    counts: NDArray[np.int32]
    documents: int


class DistributionAccumulator(Accumulator):
    """Count the rows of every head by what each measure is there, by group of documents.

    All rows of all segments count equally, special tokens left out.

    Args:
        layout: the kinds of attention and their sizes.
        groups: of documents, for resampling; None for as many as `groups_for` says.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})

    def __init__(self, layout: Sequence[KindLayout], *, groups: int | None = None) -> None:
        self.groups = groups_for(layout) if groups is None else groups
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep rows by head, measure and bin."""
        rows = counted("layer", "head", len(NAMES), BINS)
        return {"rows": rows, "documents": Distinct(FEWEST_DOCUMENTS)}

    def update(self, tile: AttentionTile) -> None:
        """Count a tile's rows."""
        values, asked = row_values(tile), asked_rows(tile)
        batch, heads = next(iter(values.values())).shape[:2]
        whole = np.zeros((batch, heads, len(NAMES), BINS), dtype=np.int32)
        for place, name in enumerate(NAMES):
            if name in values:
                whole[:, :, place] = _counts(MEASURES[name].bins(values[name]), asked)
        self.add(tile, rows=whole)
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
            results.append(DistributionResult(part.kind, counts, max(len(store), len(counts))))
        return results


def _counts(bins: torch.Tensor, asked: torch.Tensor) -> NDArray[np.int64]:
    """Count rows in bins, `[batch, head, BINS]`, from the bin of each, `[batch, head, row]`."""
    batch, heads, _ = bins.shape
    own = torch.arange(batch * heads, device=bins.device).view(batch, heads, 1) * BINS
    flat = (own + bins)[asked[:, None].expand_as(bins)]
    found = torch.bincount(flat, minlength=batch * heads * BINS)
    return np.asarray(found.view(batch, heads, BINS).cpu().numpy())
