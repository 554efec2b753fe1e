"""Values of heads as a table, and masks from its columns of type `boolean`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the norm of the head's output from the key, each row divided by its sum
(Kobayashi et al. 2020)."""


def of_measure(table: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of a table with one measure; a table without the column has weights only."""
    if "measure" not in table:
        return table if measure == WEIGHT else table[:0]
    return table[table["measure"] == measure]


def is_true(values: pd.Series[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are True."""
    return values.eq(True).to_numpy(dtype=np.bool_, na_value=False)


def is_false(values: pd.Series[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are False."""
    return values.eq(False).to_numpy(dtype=np.bool_, na_value=False)


def interval_arrays(interval: Interval, value: str = "value") -> dict[str, Any]:
    """Return an interval as the arrays `value`, `ci_low` and `ci_high`."""
    return {value: interval.value, "ci_low": interval.low, "ci_high": interval.high}


def head_table(
    arrays: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], *, mean_last: bool = False, **more: Any
) -> pd.DataFrame:
    """Return values of heads as a table: a row for each layer, head and name along the other axes, counted from 1.

    Args:
        arrays: the columns of numbers, `[layer, head, *axes]`; the first has every axis in full, the others may have
            axes of size 1.
        axes: names along each further axis, by the name of its column.
        mean_last: True if the mean over a layer's heads follows the heads; its head number is missing.
        more: columns with a single value.
    """
    shape = np.shape(next(iter(arrays.values())))
    layer, head, *along = (index.reshape(-1) for index in np.indices(shape))
    number = pd.Series(head + 1, dtype="Int64").mask(head == shape[1] - 1) if mean_last else head + 1
    names = {name: np.array(values)[at] for (name, values), at in zip(axes.items(), along, strict=True)}
    columns = {name: np.broadcast_to(values, shape).reshape(-1) for name, values in arrays.items()}
    return pd.DataFrame({**more, "layer": layer + 1, "head": number, **names, **columns})
