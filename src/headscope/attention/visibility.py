"""Which keys a row may attend to, and what uniform attention over them would give."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.attention.entropy import uniform_entropy
from headscope.attention.row_quantities import BY_CLASS, ROW_STATISTICS, SHARES, RowQuantity
from headscope.attention.row_statistics import class_indicators, write_positions
from headscope.encoding.segment import SegmentInfo

# Of what rows see, so many entries are looked at in one go: what is made of them stays in cache.
_BLOCK = 1 << 19


@dataclass(frozen=True, eq=False)
class Visibility:
    """The keys that each row of a tile may attend to; shared by the layers that have the same mask.

    Attributes:
        rows: how many rows there are.
        part: gives what some of the rows see, counted from the tile's first, `[batch, row, key]` bool.
        keys: the tokens attended to.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        sink: whether every row sees a learned sink beside: a key without a token.
    """

    rows: int
    part: Callable[[slice], Tensor]
    keys: SegmentInfo
    start: int
    square: bool
    sink: bool = False

    @classmethod
    def of(cls, visible: Tensor, *, keys: SegmentInfo, start: int, square: bool) -> "Visibility":
        """Return what all rows see as it is at hand, `[batch, row, key]` bool."""
        return cls(visible.shape[1], lambda rows: visible[:, rows], keys, start, square)

    @cached_property
    def visible(self) -> Tensor:
        """What every row sees, `[batch, row, key]` bool."""
        return self.part(slice(0, self.rows))

    @cached_property
    def counts(self) -> Tensor:
        """How many tokens each row may attend to, `[batch, row]`."""
        return self._sums[..., -1].long()

    @cached_property
    def uniform(self) -> Tensor:
        """Row statistics of attention spread evenly over the visible keys, `[batch, 1, row, ROW_STATISTICS]`.

        A learned sink is one of them.
        """
        sums = self._sums[:, None]
        number = sums[..., -1].clamp(min=1) + self.sink
        out = sums.new_empty((*sums.shape[:-1], len(ROW_STATISTICS)))
        for rows in self._blocks():
            visible_keys = self.part(rows)[:, None].float()
            write_positions(out[:, :, rows], visible_keys, start=self.start + rows.start, square=self.square)
        out[..., BY_CLASS] = sums[..., :-1]
        out[..., SHARES] /= number[..., None]
        out[..., RowQuantity.ENTROPY] = uniform_entropy(number)
        out[..., RowQuantity.MAX_WEIGHT] = 1 / number
        out[..., RowQuantity.SINK_LOGIT] = self.sink / number
        return out

    @cached_property
    def _sums(self) -> Tensor:
        """How many keys of each of `CLASSES` a row sees, and how many in all, `[batch, row, CLASSES + 1]` float64."""
        indicators = class_indicators(self.keys.classes, dtype=torch.float32)  # counts are exact in float32
        columns = torch.cat([indicators, torch.ones_like(indicators[..., :1])], dim=-1)
        # This way round the product of few columns is four times as fast.
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
    """Read which keys are visible from the mask that the model's own code made.

    Args:
        mask: additive (0 or very negative) or boolean (True = visible), broadcastable to
            `[batch, 1, query, key]`; None when the model masks nothing, padding apart.
        queries: the tokens that attend.
        keys: the tokens attended to; padded ones are never visible.
        rows: the tile's rows on the query axis.
        square: whether queries and keys are the same tokens.
        causal: whether later keys are hidden although there is no mask to say so (the fallback).
        sink: whether there is a learned sink beside the tokens.
    """
    number = len(range(*rows.indices(queries.valid.shape[1])))
    at = torch.arange(keys.valid.shape[1], device=keys.valid.device)

    def part(rows_of_part: slice) -> Tensor:
        rows_of_part = slice(rows.start + rows_of_part.start, rows.start + rows_of_part.stop)
        visible = keys.valid[:, None, :].expand(-1, rows_of_part.stop - rows_of_part.start, -1)
        if mask is not None:
            # Masks are the same for all heads; position biases travel apart from them.
            first_head = mask[:, 0, rows_of_part] if mask.shape[2] > 1 else mask[:, 0]
            allowed = first_head if mask.dtype == torch.bool else first_head > torch.finfo(mask.dtype).min / 2
            return visible & (allowed if allowed.device == visible.device else allowed.to(visible.device))
        if causal:
            return visible & (at[None, None, :] <= at[rows_of_part][None, :, None])
        return visible

    return Visibility(number, part, keys=keys, start=rows.start, square=square, sink=sink)
