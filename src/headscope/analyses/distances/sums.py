"""Jensen-Shannon divergence between heads (section 6), of one pair and of all pairs: how differently they attend.

With m = (p + q) / 2, the divergence is (sum p ln p + sum q ln q) / 2 - sum m ln m, of which only sum m ln m is computed
for each pair of heads. A CPU computes in float32, in half the time of float64 and with errors below 5e-7 nats; equal
heads are exactly 0 apart, because m ln m is then the same number as p ln p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import threshold

from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.stack import SEGMENT_LIMIT, RowDraw, RowStack
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.groups import Distinct
from headscope.statistics.sums.kept import Declared, counted, summed, total

SMOOTHING = 0.001
"""Share of uniform attention that is mixed into each row, as in the original."""
# Numbers of a buffer: few enough for the cache of a CPU core, or many enough to keep an accelerator busy.
_CPU_BLOCK, _ACCELERATOR_BLOCK = 1 << 16, 1 << 24
_ROUNDING = 1e-14  # a divergence up to this, or a negative one, is the rounding of entropies: the heads are equal


def jensen_shannon(left: Float[Tensor, "*rows key"], right: Float[Tensor, "*rows key"]) -> Float64[Tensor, "*rows"]:
    """Compute the Jensen-Shannon divergence between rows of attention, in nats (section 6).

    Weights are smoothed to 0.999 w + 0.001 / n, n the number of keys. This is the reference definition: runs compute
    all pairs of heads by `pair_sums`, and pairs of two models by `analyses.compare.divergence`.
    """
    p, q = _smooth(left), _smooth(right)
    middle = (p + q) / 2
    return (p * torch.log(p / middle) + q * torch.log(q / middle)).sum(-1) / 2


def pair_sums(stacks: Sequence[Sequence[Tensor]]) -> list[NDArray[np.float64]]:
    """Sum the divergence between all pairs of heads over the rows of each segment.

    Args:
        stacks: for each segment its layers' weights `[head, row, key]`, without padding.

    Returns:
        For each segment the sum over rows and the sum of the rows' squares, `[2, pair]`; pairs of heads in the
        order of `numpy.triu_indices`, heads layer by layer.
    """
    copy = HostCopy()
    sums = handed_over(stacks, copy)
    copy.fetch()
    return [each.array for each in sums]


def handed_over(stacks: Sequence[Sequence[Tensor]], copy: HostCopy) -> list[OnHost]:
    """Compute `pair_sums`, and have the sums copied to the host with the other results of the batch."""
    return [copy.add(_pair_sums(torch.cat(list(layers)))) for layers in stacks]


def _pair_sums(weights: Float[Tensor, "head row key"]) -> Float64[Tensor, "2 pair"]:
    """Sum the divergences of one segment, and their squares; on the device of the weights."""
    total, rows, keys = weights.shape
    half = total // 2
    on_cpu = weights.device.type == "cpu"
    limit, precision = (_CPU_BLOCK, torch.float32) if on_cpu else (_ACCELERATOR_BLOCK, torch.float64)
    height = max(1, limit // max(1, total * keys))
    # Each head is paired with the following half of the circle of heads, which gives every pair once.
    sums = torch.zeros((half, 2, total), dtype=torch.float64, device=weights.device)
    for start in range(0, rows, height):
        halves = (_smooth(weights[:, start : start + height]) / 2).to(precision)
        # The first half of the heads is repeated behind the last, which closes the circle.
        halves = torch.cat([halves, halves[:half]])
        # Several steps around the circle fill a buffer; each is a window onto the same memory.
        at_once = max(1, min(half + 1, limit // max(1, total * halves[0].numel())))
        middle, logs = (halves.new_empty((at_once, total, *halves.shape[1:])) for _ in range(2))
        joint = sums.new_empty((half + 1, total, halves.shape[1]))
        # Step 0 pairs each head with itself.
        for first in range(0, half + 1, at_once):
            steps = min(at_once, half + 1 - first)
            torch.add(halves[:total], _windows(halves, first, steps, total), out=middle[:steps])
            torch.log(middle[:steps], out=logs[:steps])
            joint[first : first + steps] = logs[:steps].mul_(middle[:steps]).sum(-1)
        alone = torch.cat([joint[0], joint[0, :half]])
        by_row = (alone[:total] + _windows(alone, 1, half, total)).div_(2).sub_(joint[1:])
        threshold(by_row, _ROUNDING, 0.0, inplace=True)
        sums[:, 0] += by_row.sum(-1)
        sums[:, 1] += by_row.square_().sum(-1)
    first_head, second_head = torch.triu_indices(total, total, 1, device=weights.device)
    apart = second_head - first_head
    forward = apart <= half
    head = torch.where(forward, first_head, second_head)
    step = torch.where(forward, apart, total - apart)
    return sums.transpose(0, 1)[:, step - 1, head]


def _smooth(rows: Float[Tensor, "*rows key"]) -> Float64[Tensor, "*rows key"]:
    return rows.double() * (1 - SMOOTHING) + SMOOTHING / rows.shape[-1]


def _windows(features: Tensor, first: int, number: int, size: int) -> Tensor:
    """Return `size` heads of `[head, ...]` from each of `number` heads on, `[number, size, ...]`: a view."""
    strides, start = features.stride(), features[first:]
    return start.as_strided((number, size, *features.shape[1:]), (strides[0], *strides), start.storage_offset())


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
