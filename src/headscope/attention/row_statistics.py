"""The row statistics of attention, computed from its weights, and all ways of computing its entropy.

The entropy of a row is -sum w ln w in nats with 0 ln 0 = 0 (Clark et al. 2019, section 3.3).
"""

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.row_quantities import BY_CLASS, CLASSES, OFFSETS, ROW_STATISTICS, RowQuantity
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
