"""What is kept of a row of attention: eight numbers in place of a weight for every key (sections 3.1-3.3)."""

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from headscope.encoding.vocabulary import KeyClass

ROW_STATISTICS = ("previous", "current", "next", "cls", "sep", "punctuation", "entropy", "max_weight")
POSITIONS = (-1, 0, 1)  # of the first three, from the query
CLASSES = (KeyClass.CLS, KeyClass.SEP, KeyClass.PUNCTUATION)  # in the order of ROW_STATISTICS


def class_indicators(
    key_classes: Int[Tensor, "batch key"], *, dtype: torch.dtype
) -> Float[Tensor, "batch key 3"]:
    """Return 1 where a key is of a class, `[batch, key, CLASSES]`: weights times this are shares of attention."""
    return torch.stack([key_classes == c for c in CLASSES], dim=-1).to(dtype)


def write_positions(
    out: Float[Tensor, "batch head row 8"] | Float[Tensor, "head row 8"],
    weights: Float[Tensor, "*batch head row key"],
    *,
    start: int,
    square: bool,
) -> None:
    """Write the weights on the previous, current and next token into the first three columns of `out`.

    Args:
        out: row statistics, `[batch, head, row, ROW_STATISTICS]`.
        weights: `[batch, head, row, key]`; row 0 is the query at position `start`.
        start: position of the first row.
        square: False for cross attention, where positions cannot be compared: the columns become NaN.

    The first token has no previous and the last no next: 0, and the rows count.
    """
    rows, keys = weights.shape[-2:]
    for column, step in enumerate(POSITIONS):
        target = out[..., column]
        if not square:
            target.fill_(torch.nan)
            continue
        # Row r attends to key r + start + step: that is the diagonal start + step of the block.
        diagonal = start + step
        first_row = max(0, -diagonal)
        last_row = min(rows, keys - diagonal)
        target.zero_()
        if last_row > first_row:
            target[..., first_row:last_row] = weights.diagonal(diagonal, -2, -1)[..., : last_row - first_row]


def row_statistics(
    weights: Float[Tensor, "batch head row key"],
    *,
    key_classes: Int[Tensor, "batch key"],
    start: int = 0,
    square: bool = True,
) -> Float64[Tensor, "batch head row 8"]:
    """Compute the statistics of every row from the weights, in float64.

    Args:
        weights: attention weights, `[batch, head, row, key]`.
        key_classes: `KeyClass` of each key, `[batch, key]`; padding must be `OTHER`.
        start: position of the first row on the query axis.
        square: whether queries and keys are the same tokens.

    Returns:
        `[batch, head, row, ROW_STATISTICS]` float64: weight on the previous, current and next token; on the
        classes of key; the entropy -sum w ln w in nats with 0 ln 0 = 0; and the largest weight.
    """
    batch, heads, rows, _ = weights.shape
    out = weights.new_empty((batch, heads, rows, len(ROW_STATISTICS)), dtype=torch.float64)
    indicators = class_indicators(key_classes, dtype=torch.float64)
    for item in range(batch):  # one segment at a time: a float64 copy of the weights is made
        exact = weights[item].double()
        write_positions(out[item], exact, start=start, square=square)
        out[item, ..., 3:6] = exact @ indicators[item]
        out[item, ..., 6] = torch.special.entr(exact).sum(-1)
        out[item, ..., 7] = exact.amax(-1)
    return out
