"""Which tokens tell a job: log-odds with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIOR = 500.0
"""Tokens that the prior counts for in all, spread as the tokens of all heads of the kind are."""
LEAST_Z = 3.0
SHOWN = 5


@dataclass(frozen=True)
class DistinctiveToken:
    """A token that stands in a job's rows more often than in others.

    Attributes:
        token: its id.
        log_odds: the difference of its log-odds in the job's rows and in the others.
        z: that by its standard error.
        count: in how many of the job's rows it stands.
    """

    token: int
    log_odds: float
    z: float
    count: int


def log_odds(
    inside: NDArray[np.int64], outside: NDArray[np.int64], everywhere: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the difference of log-odds of each token and its z, `[token]`.

    Args:
        inside: how often each token stands in the rows of a job, `[token]`.
        outside: the same of the rows that it is compared with.
        everywhere: the same of all rows, which the prior is made of; not 0 where either of the others is not.
    """
    prior = PRIOR * everywhere / max(1, everywhere.sum())
    whole = prior.sum()

    def odds(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        own = counts + prior
        # Where one token is all there is, its odds have no end.
        rest = np.maximum(counts.sum() + whole - own, 1e-9)
        return np.asarray(np.log(np.maximum(own, 1e-9) / rest))

    difference = odds(inside) - odds(outside)
    error = np.sqrt(1 / np.maximum(inside + prior, 1e-9) + 1 / np.maximum(outside + prior, 1e-9))
    return difference, difference / error


def distinctive_tokens(
    inside: NDArray[np.int64], outside: NDArray[np.int64], everywhere: NDArray[np.int64], *, most: int = SHOWN
) -> list[DistinctiveToken]:
    """Return the tokens that tell a job from other rows, the most telling first; those with z above 3.

    Args:
        inside, outside, everywhere: as `log_odds` takes them.
        most: how many.
    """
    difference, z = log_odds(inside, outside, everywhere)
    order = np.argsort(-z, kind="stable")[:most]
    return [
        DistinctiveToken(int(at), float(difference[at]), float(z[at]), int(inside[at]))
        for at in order
        if z[at] > LEAST_Z and inside[at] > 0
    ]
