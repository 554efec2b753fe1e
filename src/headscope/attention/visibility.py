"""Which keys a row may attend to, and what uniform attention over them would give."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.attention.row_statistics import (
    BY_CLASS,
    ROW_STATISTICS,
    SHARES,
    RowQuantity,
    class_indicators,
    write_positions,
)
from headscope.encoding.segment import SegmentInfo


@dataclass(frozen=True, eq=False)
class Visibility:
    """The keys that each row of a tile may attend to; shared by the layers that have the same mask.

    Attributes:
        visible: `[batch, row, key]` bool.
        keys: the tokens attended to.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
    """

    visible: Tensor
    keys: SegmentInfo
    start: int
    square: bool

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.visible.shape[1]

    @cached_property
    def counts(self) -> Tensor:
        """How many keys each row may attend to, `[batch, row]`."""
        return self.visible.sum(-1)

    @cached_property
    def uniform(self) -> Tensor:
        """Row statistics of attention spread evenly over the visible keys, `[batch, 1, row, ROW_STATISTICS]`."""
        seen = self.visible[:, None].float()
        number = self.counts[:, None].clamp(min=1).double()
        out = seen.new_empty((*seen.shape[:-1], len(ROW_STATISTICS)), dtype=torch.float64)
        write_positions(out, seen, start=self.start, square=self.square)
        out[..., BY_CLASS] = seen @ class_indicators(self.keys.classes, dtype=seen.dtype)[:, None]
        out[..., SHARES] /= number[..., None]
        out[..., RowQuantity.ENTROPY] = torch.log(number)
        out[..., RowQuantity.MAX_WEIGHT] = 1 / number
        return out


def visibility_of(
    mask: Tensor | None,
    *,
    queries: SegmentInfo,
    keys: SegmentInfo,
    rows: slice,
    square: bool,
    causal: bool = False,
) -> Visibility:
    """Read which keys are visible from the mask that the model's own code made.

    Args:
        mask: additive (0 or very negative) or boolean (True = visible), broadcastable to
            `[batch, 1, query, key]`; None when the model masks nothing, padding apart.
        queries: the tokens that attend.
        keys: the tokens attended to; padded ones are never visible.
        rows: the tile's rows on the query axis.
        square: whether queries and keys are the same tokens.
        causal: whether later keys are hidden although there is no mask to say so (the fallback).
    """
    number = len(range(*rows.indices(queries.valid.shape[1])))
    visible = keys.valid[:, None, :].expand(-1, number, -1)
    if mask is not None:
        allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        # Masks are the same for all heads; position biases travel apart from them.
        allowed = allowed[:, 0, rows] if allowed.shape[2] > 1 else allowed[:, 0]
        visible = visible & allowed.to(visible.device)
    elif causal:
        at = torch.arange(keys.valid.shape[1], device=visible.device)
        visible = visible & (at[None, None, :] <= at[rows][None, :, None])
    return Visibility(visible=visible, keys=keys, start=rows.start, square=square)
