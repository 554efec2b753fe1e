"""Features of a head's rows on one scale, without the gaps that whole numbers or the row's own token would make."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import FEATURES, WRITTEN

LEAST_SHARE = 0.05
"""The smallest share of the rows that a job has; a feature that varies in fewer rows is left out."""


def standardized(values: NDArray[np.float64], *, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features of mean 0 and deviation 1, and their names; those that nearly all rows share are left out.

    Distances are whole numbers, and the steps between them are no gaps: each is spread at random over its step, from
    log2(1 + tokens) to log2(2 + tokens). So is the row's own token, at distance 0, which is on neither side. Outputs
    have deviation 1 along their first direction, and keep their relative deviations along the others.

    Args:
        values: `[row, FEATURES]`.
        seed: of the random spread.
    """
    columns, names = [], []
    first = values[:, FEATURES.index(WRITTEN[0])].std()
    for index, name in enumerate(FEATURES):
        column = values[:, index]
        if name == "side":
            column = _sided(column)
        _, counts = np.unique(column, return_counts=True)
        if len(column) - counts.max() >= LEAST_SHARE * len(column):
            column = _spread(column, seed=seed) if name == "offset" else column
            spread = first if name in WRITTEN else column.std()
            columns.append((column - column.mean()) / spread)
            names.append(name)
    scaled = np.stack(columns, axis=1) if columns else np.zeros((len(values), 0))
    return scaled, np.array(names, dtype=np.str_)


def _spread(offset: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Return offsets spread uniformly from log2(1 + tokens) to log2(2 + tokens)."""
    draws = np.random.default_rng(seed).random(len(offset))
    return np.asarray(offset + draws * (np.log2(1 + np.exp2(offset)) - offset))


def _sided(side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sides; where the key is the row's own token, the mean of the other rows."""
    known = side != 0
    return np.where(known, side, side[known].mean() if known.any() else 0.0)
