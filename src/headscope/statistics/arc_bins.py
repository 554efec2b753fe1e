"""Counting of arcs: bins by the distance of dependent and head word, and the smallest number of arcs for a result."""

import numpy as np
from numpy.typing import NDArray

DISTANCES = ("1", "2", "3", "4", "5", "6-10", "over 10")  # words
SHORT = ("1", "2", "3", "4", "5", "6–10", ">10")  # short forms for axes
FEWEST_ARCS = 100  # of a relation
_BINS = np.array([0, 0, 1, 2, 3, 4, *[5] * 5, 6])


def distance_bins(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index into `DISTANCES` of distances in words; 0, the root's, is counted as 1."""
    return np.asarray(_BINS[np.minimum(distances, len(_BINS) - 1)])


TOTALS = ("all", "all_but_punct_root")
"""Rows of the tables that are not relations: all arcs, and all arcs but those of punctuation and the root."""
