"""The row statistics of attention, from its weights or uniform over visible keys, and all ways of computing entropy.

The entropy of a row is -sum w ln w in nats with 0 ln 0 = 0 (Clark et al. 2019, section 3.3).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.row_quantities import BY_CLASS, CLASSES, OFFSETS, ROW_STATISTICS, SHARES, RowQuantity
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass


def entropy(weights: Tensor) -> Tensor:
    """Return the entropy of rows of weights, `[..., key]` to `[...]`.

    >>> entropy(torch.tensor([0.5, 0.5]))
    tensor(0.6931)
    """
    return entropy_of_key(weights).sum(-1)


def entropy_of_key(weights: Tensor) -> Tensor:
    """Return the contribution of each key to the entropy of its row, -w ln w."""
    terms: Tensor = torch.special.entr(weights)
    return terms


def entropy_by_key(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the contribution of each key to the entropy of its row, -w ln w, for a numpy array."""
    return np.asarray(-weights * np.log(np.where(weights > 0, weights, 1.0)))


def finish_entropy(weighted: Tensor, log_total: Tensor) -> None:
    """Turn sums over unnormalized weights into entropies, in place.

    For weights w = e / z, with z the sum of all e in the row, the entropy is ln z - (sum e ln e) / z.

    Args:
        weighted: (sum e ln e) / z of each row; the entropy afterwards.
        log_total: ln z of each row.
    """
    torch.sub(log_total, weighted, out=weighted)


def of_classes(key_classes: Tensor, wanted: Sequence[KeyClass]) -> Tensor:
    """Return True for keys of some classes, in the shape of `key_classes`; no tensor is copied to the device for it."""
    return reduce(torch.logical_or, [key_classes == key_class for key_class in wanted])


def class_indicators(
    key_classes: Int[Tensor, "batch key"],
    groups: Iterable[Sequence[KeyClass]] = CLASSES.values(),
    *,
    dtype: torch.dtype,
) -> Float[Tensor, "batch key group"]:
    """Return 1 for keys of a group of classes, `[batch, key, group]`: weights times this are shares of attention.

    Args:
        key_classes: `KeyClass` of each key.
        groups: classes of each group; by default those of the row quantities, `CLASSES`.
        dtype: dtype of the result.
    """
    return torch.stack([of_classes(key_classes, group) for group in groups], dim=-1).to(dtype)


def write_positions(
    out: Float[Tensor, "batch head row quantity"] | Float[Tensor, "head row quantity"],
    weights: Float[Tensor, "*batch head row key"],
    *,
    start: int,
    square: bool,
    quantities: Sequence[RowQuantity] = tuple(OFFSETS),
) -> None:
    """Write the weights on keys at given offsets into their columns of `out`.

    Args:
        out: row statistics, `[batch, head, row, ROW_STATISTICS]`.
        weights: `[batch, head, row, key]`; row 0 is the query at position `start`.
        start: position of the first row.
        square: False for cross attention, where positions cannot be compared: the columns become NaN.
        quantities: the quantities of `OFFSETS` to write.

    The first token has no previous token and the last no next token: the weight is 0, and the rows are counted.
    """
    rows, keys = weights.shape[-2:]
    for quantity in quantities:
        target = out[..., quantity]
        if not square:
            target.fill_(torch.nan)
            continue
        target.zero_()
        for offset in OFFSETS[quantity]:
            # Row r attends to key r + start + offset, which is on the diagonal start + offset of the block.
            diagonal = start + offset
            first_row = max(0, -diagonal)
            last_row = min(rows, keys - diagonal)
            if last_row > first_row:
                on_diagonal = weights.diagonal(diagonal, -2, -1)[..., : last_row - first_row]
                target[..., first_row:last_row] += on_diagonal


def row_statistics(
    weights: Float[Tensor, "batch head row key"],
    *,
    key_classes: Int[Tensor, "batch key"],
    start: int = 0,
    square: bool = True,
    sink: Float[Tensor, "batch head row"] | None = None,
) -> Float64[Tensor, "batch head row quantity"]:
    """Compute the statistics of every row from the weights, in float64.

    Args:
        weights: attention weights, `[batch, head, row, key]`.
        key_classes: `KeyClass` of each key, `[batch, key]`; padding must be `OTHER`.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.
        sink: weight of a learned sink, `[batch, head, row]`; None if there is none.

    Returns:
        `[batch, head, row, ROW_STATISTICS]` float64: weight on the previous, current and next token; on the
        classes of keys; the entropy -sum w ln w in nats with 0 ln 0 = 0; the largest weight; and the weight of the
        sink, which counts as a key in entropy and largest weight.
    """
    batch, heads, rows, _ = weights.shape
    out = weights.new_empty((batch, heads, rows, len(ROW_STATISTICS)), dtype=torch.float64)
    indicators = class_indicators(key_classes, dtype=torch.float64)
    for item in range(batch):  # one segment at a time, because its weights are copied to float64
        exact = weights[item].double()
        write_positions(out[item], exact, start=start, square=square)
        out[item, ..., BY_CLASS] = exact @ indicators[item]
        out[item, ..., RowQuantity.ENTROPY] = entropy(exact)
        out[item, ..., RowQuantity.MAX_WEIGHT] = exact.amax(-1)
    out[..., RowQuantity.SINK_LOGIT] = 0.0
    if sink is not None:
        sink_weight = sink.double()
        out[..., RowQuantity.SINK_LOGIT] = sink_weight
        out[..., RowQuantity.ENTROPY] += entropy_of_key(sink_weight)
        out[..., RowQuantity.MAX_WEIGHT] = torch.maximum(out[..., RowQuantity.MAX_WEIGHT], sink_weight)
    return out


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
