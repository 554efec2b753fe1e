"""Tables as data frames: made from arrays of heads, masked, and checked against schemas; and the labels of arcs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval
from headscope.statistics.tables.table_schema import Column, TableSchema

# Weights of a model in half precision, and saved maps, sum to 1 within 2^-8 and a little more.
SLACK = 0.01
_WHAT_TO_DO = "; change what makes the table, or its schema and with it the version of its stage"
_INNER: Mapping[str, tuple[type, ...]] = {
    "list of text": (str,),
    "list of float64": (float, np.floating),
    "list of int64": (int, np.integer),
}
WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the norm of the head's output from the key, each row divided by its sum
(Kobayashi et al. 2020)."""
DISTANCES = ("1", "2", "3", "4", "5", "6-10", "over 10")  # words
SHORT = ("1", "2", "3", "4", "5", "6–10", ">10")  # short forms for axes
FEWEST_ARCS = 100  # of a relation
_BINS = np.array([0, 0, 1, 2, 3, 4, *[5] * 5, 6])
TOTALS = ("all", "all_but_punct_root")
"""Rows of the tables that are not relations: all arcs, and all arcs but those of punctuation and the root."""


def check_table(schema: TableSchema, table: pd.DataFrame) -> None:
    """Check a table against its schema: names and order of columns, types, missing values, bounds, choices, key.

    For a table without rows only the names are checked, because the types of its columns are unknown.

    Args:
        schema: schema of the table.
        table: table that is about to be written.

    Raises:
        ValueError: the table violates the schema; the message names table, column, expected and actual values.
    """
    came = [str(name) for name in table.columns]
    if came != schema.names:
        raise ValueError(
            f"table {schema.name}: expected the columns {', '.join(schema.names)}; came {', '.join(came) or 'none'}"
            + _WHAT_TO_DO
        )
    if table.empty:
        return
    for column in schema.columns:
        for check in (_dtype, _missing, _bounds, _choices):
            wrong = check(column, table)
            if wrong:
                raise ValueError(f"table {schema.name}, column {column.name}: {wrong}{_WHAT_TO_DO}")
    again = table.duplicated(list(schema.key))
    if again.any():
        first = table.loc[again, list(schema.key)].iloc[0]
        raise ValueError(
            f"table {schema.name}: expected one row for each {', '.join(schema.key)}; came another for "
            + ", ".join("none" if pd.isna(value) else str(value) for value in first)
            + _WHAT_TO_DO
        )


def _dtype(column: Column, table: pd.DataFrame) -> str:
    values = table[column.name]
    inner = _INNER.get(column.dtype)
    if inner is not None:
        fits = values.dtype == object and all(_is_list(value, inner) for value in values)
    elif column.dtype == "text":
        # After joining parts without values with others, text columns have the dtype object.
        fits = isinstance(values.dtype, pd.StringDtype) or (
            values.dtype == object and _kind_of(values) in ("string", "empty")
        )
    else:
        fits = str(values.dtype) == column.dtype
    if fits:
        return ""
    came = f"{values.dtype} ({_kind_of(values)})" if values.dtype == object else str(values.dtype)
    return f"expected {column.dtype}, came {came}"


def _kind_of(values: pd.Series[Any]) -> str:
    return str(pd.api.types.infer_dtype(values, skipna=True))


def _is_list(value: Any, inner: tuple[type, ...]) -> bool:
    """Check the first element only: the elements of a list have one source."""
    return isinstance(value, list | tuple | np.ndarray) and (len(value) == 0 or isinstance(value[0], inner))


def _missing(column: Column, table: pd.DataFrame) -> str:
    if column.missing:
        return ""
    gone = table[column.name].isna().to_numpy()
    if not gone.any():
        return ""
    return f"expected no missing value, came {int(gone.sum()):,}, the first in row {int(gone.argmax())}"


def _bounds(column: Column, table: pd.DataFrame) -> str:
    if column.bounds is None:
        return ""
    low, high = column.bounds
    values = table[column.name].to_numpy(dtype=np.float64, na_value=np.nan)
    # Comparisons with missing values are False.
    outside = (values < low - SLACK) | (values > high + SLACK)
    if outside.any() and column.unless is not None:
        outside &= ~table[column.unless[0]].isin(column.unless[1]).to_numpy()
    if not outside.any():
        return ""
    row = int(outside.argmax())
    between = f"from {low:g} on" if high == np.inf else f"from {low:g} to {high:g}"
    return f"expected values {between}, came {values[row]:g} in row {row}"


def _choices(column: Column, table: pd.DataFrame) -> str:
    if not column.choices:
        return ""
    values = table[column.name]
    unknown = [
        value
        for value in values.dropna().unique()
        if value not in column.choices and not (column.others and str(value).isidentifier())
    ]
    if not unknown:
        return ""
    row = int((values == unknown[0]).to_numpy(dtype=bool, na_value=False).argmax())
    return f"expected one of {', '.join(column.choices)}; came {unknown[0]!r} in row {row}"


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


def distance_bins(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index into `DISTANCES` of distances in words; 0, the root's, is counted as 1."""
    return np.asarray(_BINS[np.minimum(distances, len(_BINS) - 1)])
