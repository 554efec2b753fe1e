"""Row statistics, also norm-weighted, computed along with the softmax without storing the normalized weights."""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.attention.fused.block_products import (
    CarriedColumns,
    FusedLayer,
    FusedResult,
    aligned,
    emptied,
    store,
    underflow,
)
from headscope.attention.fused.blocks import Block
from headscope.attention.row_quantities import BY_CLASS, CLASSES, OFFSETS, ROW_STATISTICS, RowQuantity
from headscope.attention.row_statistics import class_indicators, finish_entropy, write_positions
from headscope.encoding.segment import SegmentInfo

# The main diagonal and its two neighbors.
BAND = slice(RowQuantity.PREVIOUS, RowQuantity.NEXT + 1)
BEYOND = [quantity for quantity in OFFSETS if quantity not in range(BAND.start, BAND.stop)]
_TOTAL, _LOGARITHMS = len(CLASSES), len(CLASSES) + 1


def write_band(statistics: Tensor, spare: Tensor, e: Tensor, *, start: int, square: bool) -> None:
    """Write the same as `write_positions`, in a few calls per block.

    Args:
        statistics: statistics of the block's rows, to be written, `[item, head, row, ROW_STATISTICS]`.
        spare: memory of `e` with one element before it and one after it.
        e: unnormalized weights of the block, `[item, head, row, key]`, contiguous.
        start: position of the first row among the block's keys.
        square: whether queries and keys are the same tokens.
    """
    heads, rows, keys = e.shape[1:]
    if not (square and 0 <= start <= keys - rows):
        write_positions(statistics, e, start=start, square=square)
        return
    strides = heads * rows * keys, rows * keys, keys + 1, 1
    statistics[..., BAND] = spare[start:].as_strided((*e.shape[:3], 3), strides)
    if BEYOND:
        write_positions(statistics, e, start=start, square=True, quantities=BEYOND)
    if start == 0:
        statistics[:, :, 0, RowQuantity.PREVIOUS] = 0.0  # the first token has no previous token
    if start + rows == keys:
        statistics[:, :, -1, RowQuantity.NEXT] = 0.0  # the last row has no next token among the keys that it reads


def times_norms(band: Tensor, norms: Tensor, *, start: int) -> Tensor:
    """Return the band of weights times the norms of their keys, `[batch, head, row, 3]`.

    Args:
        band: band of statistics that `write_band` wrote, 0 where there is no key, `[batch, head, row, 3]`.
        norms: norms of the keys, `[batch, head, key]`.
        start: position of the first row.
    """
    rows, keys = band.shape[2], norms.shape[2]
    position = torch.arange(start, start + rows, device=norms.device)
    key = (position[:, None] + torch.arange(-1, 2, device=norms.device)).clamp(0, keys - 1)
    return band * norms[:, :, key]


class FusedNorms:
    """The statistics of `norm_row_statistics`, block by block, from the parts of the softmax.

    With e the unnormalized weights, s their logarithms and t = e |f|: shares by class and the normalizer S = sum t
    come from a product of e with `columns`, which are added to those of the values; the entropy is
    `ln S - (sum e s |f| + sum e |f| ln |f|) / S`.

    Args:
        norms: `|f_j|`, `[batch, head, key]`.
        classes: `KeyClass` of each key, `[batch, key]`.
        rows: number of rows.
        most: number of scores of the largest block.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.

    Attributes:
        columns: columns to multiply e with, `[batch, head, key, column]`.
        statistics: `[batch, head, row, ROW_STATISTICS]`, once `finish` was called.
    """

    def __init__(
        self,
        norms: Float[Tensor, "batch head key"],
        classes: Int[Tensor, "batch key"],
        *,
        rows: int,
        most: int,
        start: int,
        square: bool,
    ) -> None:
        self.norms, self.start, self.square = norms, start, square
        batch, heads, keys = norms.shape
        self.columns = norms.new_empty((batch, heads, keys, len(CLASSES) + 2))
        of_class = class_indicators(classes, dtype=norms.dtype)[:, None]
        torch.mul(norms[..., None], of_class, out=self.columns[..., :_TOTAL])
        self.columns[..., _TOTAL] = norms
        self.columns[..., _LOGARITHMS] = torch.xlogy(norms, norms)
        self.statistics = norms.new_empty((batch, heads, rows, len(ROW_STATISTICS)))
        self.statistics[..., RowQuantity.SINK_LOGIT] = 0.0  # a learned sink has nothing to write
        self._memory = norms.new_empty(most)

    def weigh(self, block: Block, e: Float[Tensor, "item head row key"]) -> None:
        """Add a block's unnormalized weights."""
        statistics = self.statistics[block.items, block.heads, block.rows]
        t = self._memory[: e.numel()].view(e.shape)
        torch.mul(e, self.norms[block.items, block.heads, None, block.keys], out=t)
        if BEYOND:
            start = self.start + block.rows.start - block.keys.start
            write_positions(statistics, t, start=start, square=self.square, quantities=BEYOND)
        torch.amax(t, dim=-1, out=statistics[..., RowQuantity.MAX_WEIGHT])

    def weigh_logarithms(self, block: Block, es: Float[Tensor, "item head row key"]) -> None:
        """Add a block's unnormalized weights, each times its logarithm."""
        norms = self.norms[block.items, block.heads, block.keys]
        statistics = self.statistics[block.items, block.heads, block.rows]
        statistics[..., RowQuantity.ENTROPY] = (es @ norms[..., None])[..., 0]

    def finish(
        self, sums: Float[Tensor, "batch head row column"], *, positions: Float[Tensor, "batch head row quantity"]
    ) -> None:
        """Divide by each row's sum; a row that writes nothing becomes NaN.

        Args:
            sums: e times `columns`.
            positions: unnormalized statistics of e, from which the band is read.
        """
        self.statistics[..., BAND] = times_norms(positions[..., BAND], self.norms, start=self.start)
        self.statistics[..., BY_CLASS] = sums[..., :_TOTAL]
        weighted = self.statistics[..., RowQuantity.ENTROPY]
        weighted += sums[..., _LOGARITHMS]
        totals = torch.where(sums[..., _TOTAL] > 0, sums[..., _TOTAL], torch.nan)
        self.statistics /= totals[..., None]
        finish_entropy(weighted, torch.log(totals))


class StatisticsPass:
    """Sum up a layer, block by block.

    Args:
        layer: blocks of the layer, and memory for its results.
        keys: the attended tokens, for their classes.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        masked: whether a mask hides keys.
        norms: norm of each head's output per key, `[batch, head, key]`, for norm-weighted statistics.
    """

    def __init__(
        self,
        layer: FusedLayer,
        *,
        keys: SegmentInfo,
        start: int,
        square: bool,
        masked: bool,
        norms: Float[Tensor, "batch head key"] | None,
    ) -> None:
        self.layer, self.start, self.square, self.masked = layer, start, square, masked
        batch, rows, heads, self.width = layer.output.shape
        groups, self.n_keys = layer.value.shape[1:3]
        most, dtype = layer.scores_of.most, layer.scores_of.dtype
        memory = partial(layer.output.new_empty, dtype=dtype)
        self.statistics = memory((batch, heads, rows, len(ROW_STATISTICS)))
        # A spare element on each side allows reading the three diagonals as a strided band.
        self.spare = memory(most + 2)
        self.lowest, self.smallest = underflow(dtype)
        self.written = (
            None
            if norms is None
            else FusedNorms(norms.to(dtype), keys.classes, rows=rows, most=most, start=start, square=square)
        )
        # Columns for the classes, the normalizer and the output norms are added to the values, so that one product sums
        # all.
        of_class = class_indicators(keys.classes, dtype=dtype)[:, None].expand(batch, groups, self.n_keys, -1)
        extra = [of_class, of_class.new_ones((batch, groups, self.n_keys, 1))]
        self.separate = None
        if self.written is not None and groups == heads:
            extra.append(self.written.columns)
        elif self.written is not None:  # heads that share values have different output norms
            self.separate = aligned([self.written.columns])
        self.carried = CarriedColumns(layer.value, extra)
        self.product = memory((batch, heads, rows, self.carried.number))
        self.total = self.width + len(CLASSES)
        self.sums = self.product[..., self.total + 1 :]
        if self.separate is not None:
            self.sums = memory((batch, heads, rows, self.separate.shape[3]))

    def run(self) -> FusedResult:
        """Compute all blocks."""
        for block in self.layer.blocks:
            self._add(block)
        return self._finish()

    def _add(self, block: Block) -> None:
        layer, written = self.layer, self.written
        s = layer.scores_of(block)
        e = self.spare[1 : 1 + s.numel()].view(s.shape)
        rows_of_block = block.items, block.heads, block.rows
        statistics = self.statistics[rows_of_block]
        most = s.amax(-1, keepdim=True)
        if layer.logits is not None:
            most = torch.maximum(most, layer.logits[rows_of_block][..., None])
        s -= most
        # Without the clamp, 0 times the mask's huge number is not 0, and an exp that underflows takes 60 times as long.
        if self.masked:
            for run in block.masked:
                s[..., run].clamp_(min=self.lowest)
        torch.exp(s, out=e)
        if self.masked:
            for run in block.masked:
                torch.threshold_(e[..., run], self.smallest, 0.0)
        product = self.product[rows_of_block]
        store(product, e, self.carried(block.items, block.groups, block.keys))
        if self.separate is not None:
            store(self.sums[rows_of_block], e, self.separate[block.items, block.heads, block.keys])
        if written is not None:
            written.weigh(block, e)
        start = self.start + block.rows.start - block.keys.start
        write_band(statistics, self.spare, e, start=start, square=self.square)
        torch.sum(s.mul_(e), dim=-1, out=statistics[..., RowQuantity.ENTROPY])
        if written is not None:
            written.weigh_logarithms(block, s)
        if layer.logits is not None and layer.sunk is not None:
            # For each row: exp of the sink's score minus the largest score; it becomes the sink's weight when all is
            # summed.
            apart = (layer.logits[rows_of_block] - most[..., 0]).clamp_(min=self.lowest)
            layer.sunk[rows_of_block] = torch.exp(apart)
            product[..., self.total] += layer.sunk[rows_of_block]
            statistics[..., RowQuantity.ENTROPY] += apart * layer.sunk[rows_of_block]
        if layer.weights is not None:
            torch.div(e, product[..., self.total : self.total + 1], out=emptied(layer.weights, block))

    def _finish(self) -> FusedResult:
        layer, statistics = self.layer, self.statistics
        if self.written is not None:
            self.written.finish(self.sums, positions=statistics)
        inverse = self.product[..., self.total].reciprocal()
        statistics[..., BY_CLASS] = self.product[..., self.width : self.total]
        statistics[..., : RowQuantity.MAX_WEIGHT] *= inverse[..., None]
        # The column holds (sum e s) / z, and s is ln e.
        finish_entropy(statistics[..., RowQuantity.ENTROPY], torch.log(inverse).neg_())
        statistics[..., RowQuantity.MAX_WEIGHT] = inverse
        if layer.sunk is not None:
            layer.sunk.mul_(inverse)
        statistics[..., RowQuantity.SINK_LOGIT] = 0.0 if layer.sunk is None else layer.sunk
        torch.mul(self.product[..., : self.width], inverse[..., None], out=layer.output.transpose(1, 2))
        return FusedResult(
            output=layer.output,
            statistics=statistics,
            weights=layer.weights,
            sink=layer.sunk,
            norm_statistics=None if self.written is None else self.written.statistics,
        )
