"""Jensen-Shannon divergence between all pairs of heads (section 6): how differently they attend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.divergence import handed_over
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.stack import SEGMENT_LIMIT, RowDraw, RowStack
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.groups import Distinct
from headscope.statistics.sums.kept import Declared, counted, summed, total

DIVERGENCE_GROUPS, FEWEST_GROUPS = 32, 8
"""Number of groups of documents; fewer than elsewhere, because each group has a sum per pair of heads."""
_SUMS_OF_ALL = 1 << 22  # 16 MiB of float32


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


def groups_for(layout: Sequence[KindLayout]) -> int:
    """Return the number of groups of documents: 32, fewer for more than 512 heads, 8 for 1,024 heads or more."""
    pairs = max((_pairs(part) for part in layout), default=0)
    return min(DIVERGENCE_GROUPS, max(FEWEST_GROUPS, _SUMS_OF_ALL // max(1, pairs)))


class DivergenceAccumulator(Accumulator):
    """Sums the divergence between all heads of a kind over rows, by group of documents.

    All rows of all segments count equally. Where the weights of a segment do not fit into the limit, a seeded sample of
    its rows is read, and the sampling error is kept. Heads of different kinds have different keys and are not
    compared.

    Args:
        layout: the kinds of attention and their sizes.
        seed: seed of the samples.
        groups: number of groups of documents for resampling; by default that of `groups_for`.
        limit: largest size in bytes of a segment's weights of one kind; beyond it rows are sampled.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "stack"
    parameters: ClassVar[tuple[str, ...]] = ("seed", "limit")
    version: ClassVar[int] = 2  # 2: fewer groups of documents for many heads, and the number of documents

    def __init__(
        self, layout: Sequence[KindLayout], *, seed: int = 0, groups: int | None = None, limit: int = SEGMENT_LIMIT
    ) -> None:
        self.groups = groups_for(layout) if groups is None else groups
        self.seed, self.limit = seed, limit
        self.draw = RowDraw(tuple(layout), seed=seed, limit=limit)
        self._stack = RowStack(self.draw)
        # Kind, index of the segment in the batch, rows read and rows in all; and the sums of their pairs.
        self._compared: list[tuple[tuple[str, int, int, int], OnHost]] = []
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare sums over rows by group of documents and pair of heads, and totals of the sampling variance."""
        self._documents = Distinct(FEWEST_DOCUMENTS)
        declared = {part.kind: summed(_pairs(part)) for part in self.layout}
        # The variance of the sum over rows due to sampling; rows read, and segments.
        variance = {f"variance.{part.kind}": total(_pairs(part)) for part in self.layout}
        counts = {"n_rows": counted("kind"), "counts": total("kind", 2, dtype=np.int64)}
        return declared | variance | counts | {"documents": self._documents}

    @property
    def held_bytes(self) -> int:
        """Bytes of the batch's weights in memory now."""
        return self._stack.held_bytes

    def bytes_of(self, tokens: int) -> int:
        """Estimate the bytes in memory for a segment with this number of tokens."""
        return self.draw.bytes_of(tokens)

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._stack = RowStack(self.draw)

    def update(self, tile: AttentionTile) -> None:
        """Keep the sampled rows of a tile until the batch ends."""
        self._stack.add(tile)

    def hand_over(self, copy: HostCopy) -> None:
        """Compare the heads of every segment, and free the weights."""
        stacks = list(self._stack.stacks())
        sums = handed_over([stack.layers for stack in stacks], copy)
        sizes = [(stack.kind, stack.item, stack.layers[0].shape[1], stack.rows) for stack in stacks]
        self._compared = list(zip(sizes, sums, strict=True))
        self._stack = RowStack(self.draw)

    def end(self, batch: Batch) -> None:
        """Add the sums of the batch to those of its documents."""
        for (kind, item, read, rows), handle in self._compared:
            sums, squares = handle.array
            document = batch.info.documents[item]
            self._documents.add([document])
            self.sums.add(document, **{kind: sums * (rows / read), f"n_rows.{kind}": np.array(rows)})
            if read < rows:
                spread = np.maximum(squares - sums * sums / read, 0.0) / (read - 1)
                self.totals[f"variance.{kind}"] += rows * (rows - read) / read * spread
            self.totals[f"counts.{kind}"] += (read, 1)
        self._compared = []

    def compute(self) -> list[DivergenceResult]:
        """Return the divergences of each kind of attention."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            sums, rows = stacked[part.kind], stacked[f"n_rows.{part.kind}"].astype(np.float64)
            number, variance = float(rows.sum()), self.totals[f"variance.{part.kind}"]
            read, segments = (int(count) for count in self.totals[f"counts.{part.kind}"])
            results.append(
                DivergenceResult(
                    kind=part.kind,
                    layers=part.layers,
                    heads=part.heads,
                    divergence=_square(sums.sum(0) / max(number, 1.0), part),
                    sampling_error=_square(np.sqrt(variance) / max(number, 1.0), part),
                    n=int(number),
                    rows_read=read,
                    segments=segments,
                    group_sums=_square(sums, part),
                    group_rows=rows,
                    documents=max(len(self._documents), len(rows)),
                )
            )
        return results


def _pairs(part: KindLayout) -> int:
    heads = part.layers * part.heads
    return heads * (heads - 1) // 2


def _square(pairs: NDArray[np.float64], part: KindLayout) -> NDArray[np.float64]:
    """Lay out pairs `[..., pair]` as a symmetric matrix with a zero diagonal, `[..., head, head]`."""
    heads = part.layers * part.heads
    out = np.zeros((*pairs.shape[:-1], heads, heads))
    first, second = np.triu_indices(heads, 1)
    out[..., first, second] = pairs
    out[..., second, first] = pairs
    return out
