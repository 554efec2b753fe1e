"""Pure functions that sum statistics over rows (sections 3.1 to 3.3)."""

from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.encoding.sending import sent
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS


@cache
def _columns_and_rows(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return for each statistic which number of a row it is, and over which rows; once for a device."""
    columns = torch.tensor([int(statistic.quantity) for statistic in STATISTICS.values()])
    return sent(columns, device), sent(torch.from_numpy(rows_of_statistics().copy()), device)


@cache
def rows_of_statistics() -> NDArray[np.int64]:
    """Return over which of `Rows` each statistic is a mean, `[STATISTICS]`."""
    return np.array([list(Rows).index(statistic.rows) for statistic in STATISTICS.values()])


def row_selections(
    row_classes: Int[Tensor, "batch row"], row_valid: Bool[Tensor, "batch row"]
) -> Float64[Tensor, "batch row selection"]:
    """Return which rows each kind of mean runs over, `[batch, row, Rows]` float64; padding is in none."""
    chosen = []
    for rows in Rows:
        of_class = row_classes == rows.key_class if rows.key_class is not None else row_valid
        chosen.append(row_valid & (of_class if rows.inside else ~of_class))
    return torch.stack(chosen, dim=-1).double()


def stats_sums(
    statistics: Float[Tensor, "batch head row quantity"], selections: Float64[Tensor, "batch row selection"]
) -> Float64[Tensor, "batch head statistic"]:
    """Sum row statistics over rows, `[batch, head, STATISTICS]` float64.

    Args:
        statistics: `[batch, head, row, ROW_STATISTICS]`.
        selections: from `row_selections`, `[batch, row, Rows]`.
    """
    # A padding row may hold NaN (nothing is visible from it) and 0 x NaN is NaN: such rows are emptied first.
    counted = selections[:, None, :, :1] > 0
    rows = torch.where(counted, statistics.double(), 0.0)
    table = rows.transpose(2, 3) @ selections[:, None]
    columns, of_rows = _columns_and_rows(table.device)
    return table[..., columns, of_rows]


def stats_row_counts(
    lengths: Int[Tensor, " batch"], rows_per_class: Int[Tensor, "batch key_class"]
) -> Float64[Tensor, "batch statistic"]:
    """Return how many rows of a segment each statistic averages over, `[batch, STATISTICS]` float64."""
    numbers = []
    for rows in Rows:
        of_class = rows_per_class[:, rows.key_class] if rows.key_class is not None else lengths
        numbers.append(of_class if rows.inside else lengths - of_class)
    return torch.stack(numbers, dim=-1).double()[:, _columns_and_rows(lengths.device)[1]]
