"""The distinctive tokens of a job: log-odds with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIOR = 500.0
"""The total count of the prior, distributed as the tokens of all heads of the kind are."""
LEAST_Z = 3.0
SHOWN = 5


@dataclass(frozen=True)
class DistinctiveToken:
    """A token that is more frequent in a job's rows than in other rows.

    Attributes:
        token: its id.
        log_odds: the difference of its log-odds in the job's rows and in the others.
        z: the difference divided by its standard error.
        n_rows: number of the job's rows that have it.
    """

    token: int
    log_odds: float
    z: float
    n_rows: int


def log_odds(
    inside: NDArray[np.int64], outside: NDArray[np.int64], everywhere: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the difference of log-odds of each token and its z, `[token]`.

    Args:
        inside: count of each token in the rows of a job, `[token]`.
        outside: count in the rows that the job is compared with.
        everywhere: count in all rows, which the prior is made of; positive wherever one of the others is.
    """
    prior = PRIOR * everywhere / max(1, everywhere.sum())
    whole = prior.sum()

    def odds(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        smoothed = counts + prior
        # The odds of the only token are infinite without this bound.
        rest = np.maximum(counts.sum() + whole - smoothed, 1e-9)
        return np.asarray(np.log(np.maximum(smoothed, 1e-9) / rest))

    difference = odds(inside) - odds(outside)
    error = np.sqrt(1 / np.maximum(inside + prior, 1e-9) + 1 / np.maximum(outside + prior, 1e-9))
    return difference, difference / error


def distinctive_tokens(
    inside: NDArray[np.int64], outside: NDArray[np.int64], everywhere: NDArray[np.int64]
) -> list[DistinctiveToken]:
    """Return the tokens that distinguish a job from other rows, by falling z; those with z above 3.

    Args:
        inside, outside, everywhere: as `log_odds` takes them.
    """
    difference, z = log_odds(inside, outside, everywhere)
    order = np.argsort(-z, kind="stable")[:SHOWN]
    return [
        DistinctiveToken(int(at), float(difference[at]), float(z[at]), int(inside[at]))
        for at in order
        if z[at] > LEAST_Z and inside[at] > 0
    ]
