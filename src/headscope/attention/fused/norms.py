"""Norm-weighted row statistics (`a_ij |f_j|`) computed along with the softmax, without storing the weighted values."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.attention.fused.band import BAND, BEYOND, times_norms
from headscope.attention.fused.blocks import Block
from headscope.attention.row_quantities import BY_CLASS, CLASSES, ROW_STATISTICS, RowQuantity
from headscope.attention.row_statistics import class_indicators, finish_entropy, write_positions

_TOTAL, _LOGARITHMS = len(CLASSES), len(CLASSES) + 1


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
