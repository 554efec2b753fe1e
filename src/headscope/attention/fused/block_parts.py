"""Parts of a layer in the precision of the computation: half precision is widened one block at a time."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

_ALIGNED = 16


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """Return the precision in which scores, softmax and statistics are computed: float32 for half precision."""
    return torch.promote_types(dtype, torch.float32)


class WidenedParts:
    """Return parts of a tensor in the precision of the computation.

    Widened parts are written into the same memory, one after the other, so that no copy is as large as a layer.

    Args:
        tensor: tensor from the model, `[batch, head, row, width]`.
        contiguous: whether a tensor that needs no widening is made contiguous: products of strided keys are slow, and
            every block needs one.
    """

    def __init__(self, tensor: Tensor, *, contiguous: bool = False) -> None:
        self._memory = _Memory(computed_in(tensor.dtype))
        self._widens = tensor.dtype != self._memory.dtype
        self._tensor = tensor.contiguous() if contiguous and not self._widens else tensor
        self._last: tuple[tuple[slice, ...], Tensor] | None = None

    def __call__(self, *part: slice) -> Tensor:
        """Return a part; with half precision, a call for another part overwrites it."""
        if not self._widens:
            return self._tensor[part]
        if self._last is None or self._last[0] != part:
            tensor = self._tensor[part]
            widened = self._memory.of(tensor.shape, device=tensor.device)
            self._last = part, widened.copy_(tensor)
        return self._last[1]


class CarriedColumns:
    """Return values with additional columns, so that one product sums all of them.

    Args:
        value: values from the model, `[batch, group, key, width]`.
        extra: additional columns, in the precision of the computation, `[batch, group, key, column]`.

    Attributes:
        number: number of columns, including those of the values and the padding.
    """

    def __init__(self, value: Tensor, extra: Sequence[Tensor]) -> None:
        self._memory = _Memory(computed_in(value.dtype))
        self._columns = value, *extra
        width = sum(each.shape[3] for each in self._columns)
        self.number = width + -width % _ALIGNED
        self._whole: Tensor | None = None
        self._last: tuple[tuple[slice, ...], Tensor] | None = None
        if value.dtype == self._memory.dtype:
            self._whole = aligned(self._columns)

    def __call__(self, *part: slice) -> Tensor:
        """Return the columns of some keys; with half precision, a call for others overwrites them."""
        if self._whole is not None:
            return self._whole[part]
        if self._last is None or self._last[0] != part:
            self._last = part, self._joined([each[part] for each in self._columns])
        return self._last[1]

    def _joined(self, columns: Sequence[Tensor]) -> Tensor:
        joined = self._memory.of((*columns[0].shape[:3], self.number), device=columns[0].device)
        start = 0
        for each in columns:
            joined[..., start : start + each.shape[3]] = each
            start += each.shape[3]
        joined[..., start:] = 0.0
        return joined


def aligned(columns: Sequence[Tensor]) -> Tensor:
    """Concatenate columns `[batch, head, key, column]`, and pad them with zeros to a multiple of 16.

    Products with fewer columns take up to three times as long on processors that compute 16 columns at a time.
    """
    width = sum(each.shape[3] for each in columns)
    first = columns[0]
    return torch.cat([*columns, first.new_zeros((*first.shape[:3], -width % _ALIGNED))], dim=3)


class _Memory:
    """Memory that grows to the largest part."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._kept = torch.empty(0, dtype=dtype)

    def of(self, shape: Sequence[int], *, device: torch.device) -> Tensor:
        """Return memory of the given shape."""
        number = math.prod(shape)
        if self._kept.numel() < number:
            self._kept = torch.empty(number, dtype=self.dtype, device=device)
        return self._kept[:number].view(*shape)
