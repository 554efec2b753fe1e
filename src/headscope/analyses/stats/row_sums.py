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
    """Return for each statistic the column of its row quantity and the index of its rows; cached by device."""
    columns = torch.tensor([int(statistic.quantity) for statistic in STATISTICS.values()])
    return sent(columns, device), sent(torch.from_numpy(rows_of_statistics().copy()), device)


@cache
def rows_of_statistics() -> NDArray[np.int64]:
    """Return the index in `Rows` of the rows over which each statistic is a mean, `[STATISTICS]`."""
    return np.array([list(Rows).index(statistic.rows) for statistic in STATISTICS.values()])


def row_selections(
    row_classes: Int[Tensor, "batch row"], row_valid: Bool[Tensor, "batch row"]
) -> Float64[Tensor, "batch row selection"]:
    """Return 1 for the rows over which each kind of mean runs, else 0, `[batch, row, Rows]` float64; padding has 0."""
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
        selections: result of `row_selections`, `[batch, row, Rows]`.
    """
    # A padding row may hold NaN (it sees no key), and 0 x NaN is NaN: such rows are set to 0 first.
    counted = selections[:, None, :, :1] > 0
    rows = torch.where(counted, statistics.double(), 0.0)
    table = rows.transpose(2, 3) @ selections[:, None]
    columns, of_rows = _columns_and_rows(table.device)
    return table[..., columns, of_rows]


def stats_row_counts(
    lengths: Int[Tensor, " batch"], rows_per_class: Int[Tensor, "batch key_class"]
) -> Float64[Tensor, "batch statistic"]:
    """Return the number of rows of a segment over which each statistic is averaged, `[batch, STATISTICS]` float64."""
    numbers = []
    for rows in Rows:
        of_class = rows_per_class[:, rows.key_class] if rows.key_class is not None else lengths
        numbers.append(of_class if rows.inside else lengths - of_class)
    return torch.stack(numbers, dim=-1).double()[:, _columns_and_rows(lengths.device)[1]]
