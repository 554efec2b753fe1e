"""The keys that a row may attend to, and the statistics of uniform attention over them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.attention.row_quantities import BY_CLASS, ROW_STATISTICS, SHARES, RowQuantity
from headscope.attention.row_statistics import class_indicators, write_positions
from headscope.encoding.segment import SegmentInfo

# Number of visibility entries that are read at once, so that intermediate arrays stay in cache.
_BLOCK = 1 << 19


@dataclass(frozen=True, eq=False)
class Visibility:
    """The keys that each row of a tile may attend to; shared by the layers that have the same mask.

    Attributes:
        rows: number of rows.
        part: returns the visible keys of some of the rows, counted from the tile's first, `[batch, row, key]` bool.
        keys: the attended tokens.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        sink: whether every row also sees a learned sink: a key without a token.
    """

    rows: int
    part: Callable[[slice], Tensor]
    keys: SegmentInfo
    start: int
    square: bool
    sink: bool = False

    @classmethod
    def of(cls, visible: Tensor, *, keys: SegmentInfo, start: int, square: bool) -> "Visibility":
        """Return the visibility given by an array of the visible keys of all rows, `[batch, row, key]` bool."""
        return cls(visible.shape[1], lambda rows: visible[:, rows], keys, start, square)

    @cached_property
    def visible(self) -> Tensor:
        """The visible keys of every row, `[batch, row, key]` bool."""
        return self.part(slice(0, self.rows))

    @cached_property
    def counts(self) -> Tensor:
        """Number of tokens that each row may attend to, `[batch, row]`."""
        return self._sums[..., -1].long()

    @cached_property
    def uniform(self) -> Tensor:
        """Row statistics of uniform attention over the visible keys, `[batch, 1, row, ROW_STATISTICS]`.

        A learned sink counts as one of the keys.
        """
        sums = self._sums[:, None]
        number = sums[..., -1].clamp(min=1) + self.sink
        out = sums.new_empty((*sums.shape[:-1], len(ROW_STATISTICS)))
        for rows in self._blocks():
            visible_keys = self.part(rows)[:, None].float()
            write_positions(out[:, :, rows], visible_keys, start=self.start + rows.start, square=self.square)
        out[..., BY_CLASS] = sums[..., :-1]
        out[..., SHARES] /= number[..., None]
        out[..., RowQuantity.ENTROPY] = torch.log(number)
        out[..., RowQuantity.MAX_WEIGHT] = 1 / number
        out[..., RowQuantity.SINK_LOGIT] = self.sink / number
        return out

    @cached_property
    def _sums(self) -> Tensor:
        """Number of visible keys of each of `CLASSES` and in total, per row, `[batch, row, CLASSES + 1]` float64."""
        indicators = class_indicators(self.keys.classes, dtype=torch.float32)  # counts are exact in float32
        columns = torch.cat([indicators, torch.ones_like(indicators[..., :1])], dim=-1)
        # In this orientation the product of few columns is four times as fast.
        left = columns.transpose(1, 2).contiguous()
        parts = [left @ self.part(rows).float().transpose(1, 2) for rows in self._blocks()]
        return torch.cat(parts, dim=2).transpose(1, 2).double()

    def _blocks(self) -> list[slice]:
        height = max(1, _BLOCK // self.keys.valid.numel())
        return [slice(first, min(first + height, self.rows)) for first in range(0, self.rows, height)]


def visibility_of(
    mask: Tensor | None,
    *,
    queries: SegmentInfo,
    keys: SegmentInfo,
    rows: slice,
    square: bool,
    causal: bool = False,
    sink: bool = False,
) -> Visibility:
    """Read the visible keys from the mask of the model's own code.

    Args:
        mask: additive (0 or very negative) or boolean (True = visible), broadcastable to
            `[batch, 1, query, key]`; None if the model masks nothing but padding.
        queries: the attending tokens.
        keys: the attended tokens; padded ones are never visible.
        rows: the tile's rows on the query axis.
        square: whether queries and keys are the same tokens.
        causal: whether later keys are hidden although there is no mask (the fallback).
        sink: whether there is a learned sink in addition to the tokens.
    """
    number = len(range(*rows.indices(queries.valid.shape[1])))
    at = torch.arange(keys.valid.shape[1], device=keys.valid.device)

    def part(rows_of_part: slice) -> Tensor:
        rows_of_part = slice(rows.start + rows_of_part.start, rows.start + rows_of_part.stop)
        visible = keys.valid[:, None, :].expand(-1, rows_of_part.stop - rows_of_part.start, -1)
        if mask is not None:
            # Masks are the same for all heads; position biases are passed separately.
            first_head = mask[:, 0, rows_of_part] if mask.shape[2] > 1 else mask[:, 0]
            allowed = first_head if mask.dtype == torch.bool else first_head > torch.finfo(mask.dtype).min / 2
            return visible & (allowed if allowed.device == visible.device else allowed.to(visible.device))
        if causal:
            return visible & (at[None, None, :] <= at[rows_of_part][None, :, None])
        return visible

    return Visibility(number, part, keys=keys, start=rows.start, square=square, sink=sink)
