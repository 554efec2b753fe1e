"""What a statistic or a behavior is taken of: where a head looks, or what it writes of it."""

import pandas as pd

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the length of what the head writes of the key, each row divided by its sum
(Kobayashi et al. 2020)."""
_COLUMN = "measure"
TABLES = ("stats", "behaviors", "experiments")
"""The tables that have both measures."""
# The column that stands behind that of the measure.
_BEFORE = ("statistic", "behavior")


def of_measure(table: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of one of `TABLES` that are of one measure; a table without the column is of weights."""
    if _COLUMN not in table:
        return table if measure == WEIGHT else table[:0]
    return table[table[_COLUMN] == measure]


def with_measure(table: pd.DataFrame) -> pd.DataFrame:
    """Return one of `TABLES` with the column `measure`, which runs of before have not: they measured weights."""
    behind = next((name for name in _BEFORE if name in table), None)
    if _COLUMN in table or behind is None:
        return table
    column = table.columns.get_loc(behind)
    assert isinstance(column, int)
    with_measure = table.copy(deep=False)
    with_measure.insert(column, _COLUMN, WEIGHT)
    return with_measure
