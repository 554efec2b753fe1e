"""What a statistic or a behavior is taken of: where a head looks, or what it writes of it."""

import pandas as pd

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the length of what the head writes of the key, each row divided by its sum
(Kobayashi et al. 2020)."""


def of_measure(table: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of a table that are of one measure; a table without the column is of weights."""
    if "measure" not in table:
        return table if measure == WEIGHT else table[:0]
    return table[table["measure"] == measure]
