"""Made-up tables built from the schemas of a run's tables, so that they always match them."""

import numpy as np
import pandas as pd

from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.statistics.tables.frames import check_table


def schemas():
    """Return the schemas of every table of every stage, by name, in the order of the report."""
    return {
        schema.name: schema for analysis in ANALYSES for stage in analysis.stages for schema in analysis.tables(stage)
    }


def table_of(schema, rows):
    """Build a table from rows, each a dict or the values in the schema's order; keys absent from a dict are missing
    values.

    Every row must have the columns that cannot be missing. The table is checked like one that a run writes.
    """
    named = [row if isinstance(row, dict) else dict(zip(schema.names, row, strict=True)) for row in rows]
    unknown = {name for row in named for name in row} - set(schema.names)
    assert not unknown, f"table {schema.name} has no column {', '.join(sorted(unknown))}"
    columns = {c.name: _typed(c, [row.get(c.name) for row in named]) for c in schema.columns}
    made = pd.DataFrame(columns, columns=schema.names)
    check_table(schema, made)
    return made


def stand_in(schema, *rows, **columns):
    """Build a table from some of its columns: from rows, each a dict, or from columns, each a list or a constant.

    The other columns are filled with plausible values: a missing value where allowed, 1 for counts and positions, 0
    for shares, and for text the first known choice or the column's name.
    """
    lengths = {len(values) for values in columns.values() if isinstance(values, list)} | {len(rows) or 1}
    number = max(lengths)
    assert lengths <= {number, 1}, f"columns of table {schema.name} of different lengths"
    every = {c.name: _plain(c) for c in schema.columns} | columns
    filled = [
        {name: values[at] if isinstance(columns.get(name), list) else values for name, values in every.items()}
        | (rows[at] if rows else {})
        for at in range(number)
    ]
    return table_of(schema, filled)


def _plain(column):
    """Return a plausible value for a column."""
    if column.missing:
        return None
    if column.dtype.startswith("list"):
        return []
    if column.dtype == "text":
        return column.choices[0] if column.choices else column.name
    if column.dtype == "bool":
        return False
    low = 0.0 if column.bounds is None else max(column.bounds[0], 0.0)
    return int(max(low, 1)) if "int" in column.dtype.lower() else low


def _typed(column, values):
    gone = [not isinstance(value, list | tuple | np.ndarray) and bool(pd.isna(value)) for value in values]
    if any(gone) and not column.missing:
        raise AssertionError(f"column {column.name} must have a value in every row")
    if column.dtype in ("int64", "float64", "bool"):
        return np.array([np.nan if none else value for value, none in zip(values, gone)], dtype=column.dtype)
    if column.dtype == "Int64":
        return pd.array([pd.NA if none else int(value) for value, none in zip(values, gone)], dtype="Int64")
    if column.dtype == "boolean":
        return pd.array([pd.NA if none else bool(value) for value, none in zip(values, gone)], dtype="boolean")
    if column.dtype == "text" and not all(gone):
        return pd.Series([None if none else value for value, none in zip(values, gone)])
    return pd.Series(values, dtype=object)
