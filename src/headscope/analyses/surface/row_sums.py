"""The arithmetic of surface statistics, free of state (sections 3.1 to 3.3)."""

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from headscope.attention.row_statistics import ROW_STATISTICS
from headscope.encoding.vocabulary import KeyClass

# Each statistic: which number of a row, over which rows.
_ALL, _SEP, _CLS, _NOT_SEP = 0, 1, 2, 3
_DEFINITIONS = {
    "previous": ("previous", _ALL),
    "next": ("next", _ALL),
    "current": ("current", _ALL),
    "cls": ("cls", _ALL),
    "sep": ("sep", _ALL),
    "punctuation": ("punctuation", _ALL),
    "sep_to_sep": ("sep", _SEP),
    "other_to_sep": ("sep", _NOT_SEP),
    "entropy": ("entropy", _ALL),
    "entropy_cls": ("entropy", _CLS),
    "max_weight": ("max_weight", _ALL),
}
SURFACE_STATISTICS = tuple(_DEFINITIONS)
_COLUMN = torch.tensor([ROW_STATISTICS.index(column) for column, _ in _DEFINITIONS.values()])
_ROWS = torch.tensor([rows for _, rows in _DEFINITIONS.values()])


def row_selections(
    row_classes: Int[Tensor, "batch row"], row_valid: Bool[Tensor, "batch row"]
) -> Float64[Tensor, "batch row 4"]:
    """Return which rows each kind of average runs over, `[batch, row, 4]` float64.

    The four: all rows, rows of `sep`, rows of `cls`, rows that are not `sep`. Padding is in none.
    """
    sep = (row_classes == KeyClass.SEP) & row_valid
    cls = (row_classes == KeyClass.CLS) & row_valid
    return torch.stack([row_valid, sep, cls, row_valid & ~sep], dim=-1).double()


def surface_sums(
    statistics: Float[Tensor, "batch head row quantity"], selections: Float64[Tensor, "batch row 4"]
) -> Float64[Tensor, "batch head 11"]:
    """Sum row statistics over rows, `[batch, head, SURFACE_STATISTICS]` float64.

    Args:
        statistics: `[batch, head, row, ROW_STATISTICS]`.
        selections: from `row_selections`, `[batch, row, 4]`.
    """
    # A padding row may hold NaN (nothing is visible from it) and 0 x NaN is NaN: such rows are emptied first.
    counted = selections[:, None, :, :1] > 0
    rows = torch.where(counted, statistics.double(), 0.0)
    table = rows.transpose(2, 3) @ selections[:, None]
    device = table.device
    return table[..., _COLUMN.to(device), _ROWS.to(device)]


def surface_row_counts(
    lengths: Int[Tensor, " batch"], rows_per_class: Int[Tensor, "batch 4"]
) -> Float64[Tensor, "batch 11"]:
    """How many rows of a segment each statistic averages over, `[batch, SURFACE_STATISTICS]` float64."""
    sep, cls = rows_per_class[:, KeyClass.SEP], rows_per_class[:, KeyClass.CLS]
    return torch.stack([lengths, sep, cls, lengths - sep], dim=-1).double()[:, _ROWS.to(lengths.device)]
