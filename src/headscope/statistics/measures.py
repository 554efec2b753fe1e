"""The measures of statistics and behaviors: attention weights, or norm-weighted attention."""

import pandas as pd

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the norm of the head's output from the key, each row divided by its sum
(Kobayashi et al. 2020)."""


def of_measure(table: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of a table with one measure; a table without the column has weights only."""
    if "measure" not in table:
        return table if measure == WEIGHT else table[:0]
    return table[table["measure"] == measure]
