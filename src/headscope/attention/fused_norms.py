"""Row statistics of what is written (`a_ij |f_j|`) along with the softmax, without ever writing its weights."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.attention.blocks import Block
from headscope.attention.row_statistics import (
    BY_CLASS,
    CLASSES,
    ROW_STATISTICS,
    RowQuantity,
    class_indicators,
    write_positions,
)

_TOTAL, _LOGARITHMS = len(CLASSES), len(CLASSES) + 1


class FusedNorms:
    """The statistics of `norm_row_statistics`, block by block, from the parts of the softmax.

    With e the unnormalised weights, s their logarithms and t = e |f|: shares by class and the normaliser S = sum t
    come from one narrow product of e, the entropy is `ln S - (sum e s |f| + sum e |f| ln |f|) / S`.

    Args:
        norms: `|f_j|`, `[batch, head, key]`.
        classes: `KeyClass` of each key, `[batch, key]`.
        rows: how many there are.
        most: scores of the largest block.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.

    Attributes:
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
        self.carrier = norms.new_empty((batch, heads, keys, len(CLASSES) + 2))
        of_class = class_indicators(classes, dtype=norms.dtype)[:, None]
        torch.mul(norms[..., None], of_class, out=self.carrier[..., :_TOTAL])
        self.carrier[..., _TOTAL] = norms
        self.carrier[..., _LOGARITHMS] = torch.xlogy(norms, norms)
        self.statistics = norms.new_empty((batch, heads, rows, len(ROW_STATISTICS)))
        self.statistics[..., RowQuantity.SINK] = 0.0  # a learned sink has nothing to write
        self._totals = norms.new_empty((batch, heads, rows))
        self._memory = norms.new_empty(most)

    def weigh(self, block: Block, e: Float[Tensor, "item head row key"]) -> None:
        """Take a block's unnormalised weights."""
        own = self.statistics[block.items, block.heads, block.rows]
        t = self._memory[: e.numel()].view(e.shape)
        torch.mul(e, self.norms[block.items, block.heads, None, block.keys], out=t)
        write_positions(own, t, start=self.start + block.rows.start - block.keys.start, square=self.square)
        torch.amax(t, dim=-1, out=own[..., RowQuantity.MAX_WEIGHT])
        sums = e @ self.carrier[block.items, block.heads, block.keys]
        own[..., BY_CLASS] = sums[..., :_TOTAL]
        own[..., RowQuantity.ENTROPY] = sums[..., _LOGARITHMS]
        self._totals[block.items, block.heads, block.rows] = sums[..., _TOTAL]

    def weigh_logarithms(self, block: Block, es: Float[Tensor, "item head row key"]) -> None:
        """Take a block's unnormalised weights, each times its logarithm."""
        norms = self.norms[block.items, block.heads, block.keys]
        own = self.statistics[block.items, block.heads, block.rows]
        own[..., RowQuantity.ENTROPY] += (es @ norms[..., None])[..., 0]

    def finish(self) -> None:
        """Divide by each row's sum; a row that writes nothing becomes NaN."""
        totals = torch.where(self._totals > 0, self._totals, torch.nan)
        self.statistics /= totals[..., None]
        entropy = self.statistics[..., RowQuantity.ENTROPY]
        entropy.neg_().add_(torch.log(totals))
