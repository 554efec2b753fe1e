"""A check of tables against their schemas before they are read: a violation is a bug in the program."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from headscope.statistics.tables.table_schema import Column, TableSchema

# Weights of a model in half precision, and saved maps, sum to 1 within 2^-8 and a little more.
SLACK = 0.01
_WHAT_TO_DO = "; change what makes the table, or its schema and with it the version of its stage"
_INNER: Mapping[str, tuple[type, ...]] = {
    "list of text": (str,),
    "list of float64": (float, np.floating),
    "list of int64": (int, np.integer),
}


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


def _kind_of(values: "pd.Series[Any]") -> str:
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
