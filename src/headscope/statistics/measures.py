"""What a surface statistic is taken of: where a head looks, or what it writes of it."""

import pandas as pd

WEIGHT, NORM = MEASURES = ("weight", "norm")
"""The attention weight, and the weight times the length of what the head writes of the key, each row divided by its sum
(Kobayashi et al. 2020)."""
_COLUMN = "measure"


def of_measure(surface: pd.DataFrame, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the rows of `surface.parquet` that are of one measure; a table without the column is of weights."""
    if _COLUMN not in surface:
        return surface if measure == WEIGHT else surface[:0]
    return surface[surface[_COLUMN] == measure]


def with_measure(surface: pd.DataFrame) -> pd.DataFrame:
    """Return `surface.parquet` with the column `measure`, which runs of before have not: they measured weights."""
    if _COLUMN in surface or "statistic" not in surface:
        return surface
    place = surface.columns.get_loc("statistic")
    assert isinstance(place, int)
    found = surface.copy(deep=False)
    found.insert(place, _COLUMN, WEIGHT)
    return found
