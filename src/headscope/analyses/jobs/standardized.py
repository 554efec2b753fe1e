"""Features of a head's rows on one scale, without gaps that whole numbers or the token itself would make."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import FEATURES, WRITTEN

LEAST_SHARE = 0.05
"""No job has a smaller share of the rows, and a feature that fewer have tells none."""


def standardized(found: NDArray[np.float64], *, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features of mean 0 and deviation 1, and their names; those that nearly all rows share are left out.

    Tokens away are whole numbers, between which there is no gap: each is spread over its step, from log2(1 + tokens)
    to log2(2 + tokens), by what the seed draws; so is the token itself, none away, which is on neither side. What is
    written has deviation 1 along its first direction, and along others as much less as it varies less there.

    Args:
        found: `[row, FEATURES]`.
        seed: of what spreads tokens.
    """
    kept, names = [], []
    first = found[:, FEATURES.index(WRITTEN[0])].std()
    for place, name in enumerate(FEATURES):
        column = found[:, place]
        if name == "side":
            column = _sided(column)
        _, counts = np.unique(column, return_counts=True)
        if len(column) - counts.max() >= LEAST_SHARE * len(column):
            column = _spread(column, seed=seed) if name == "offset" else column
            spread = first if name in WRITTEN else column.std()
            kept.append((column - column.mean()) / spread)
            names.append(name)
    own = np.stack(kept, axis=1) if kept else np.zeros((len(found), 0))
    return own, np.array(names, dtype=np.str_)


def _spread(offset: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Return log2(1 + tokens) spread to that of one token more, evenly on this scale."""
    drawn = np.random.default_rng(seed).random(len(offset))
    return np.asarray(offset + drawn * (np.log2(1 + np.exp2(offset)) - offset))


def _sided(side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sides, with the mean of the other rows' where the key is the row's own token."""
    known = side != 0
    return np.where(known, side, side[known].mean() if known.any() else 0.0)
