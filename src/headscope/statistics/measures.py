"""What a statistic or a behavior is taken of: where a head looks, or what it writes of it."""

import pandas as pd

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the length of what the head writes of the key, each row divided by its sum
(Kobayashi et al. 2020)."""


def of_measure(table: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of a table of both measures (`stats`, `behaviors`, `experiments`) that are of one."""
    return table[table["measure"] == measure]
