"""Simulated documents with known truth, to check that tests keep their level and intervals their coverage."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.sums.groups import GROUPS

SIZES = ("mild", "heavy-tailed", "size-dependent")
STEEP = "steeply size-dependent"
_OWN = 0.5
"""Standard deviation of the document effect, in log odds."""
_LEANING = {"size-dependent": 0.3, STEEP: 0.6}
"""Log odds, or logarithm of a value, that a document gains for each e-fold of size, if the mean depends on size."""


def sizes(world: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the number of questions of each document: 1 to 20, or log-normal about 10 with a tail (sigma 1)."""
    if world == "mild":
        return rng.integers(1, 21, shape)
    return np.maximum(1, np.rint(rng.lognormal(np.log(10), 1.0, shape))).astype(np.int64)


def log_odds(world: str, number: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the document effects, in log odds; in one world larger documents are easier."""
    return _effects(world, number, _OWN, rng)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert log odds to a share."""
    return 1 / (1 + np.exp(-x))


@cache
def level(world: str, share: float, *, documents: int = 200_000) -> float:
    """Find the log odds at which a given share of all questions of a world is answered right."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(1)
    number = sizes(world, (documents,), rng)
    own = log_odds(world, number, rng)
    found: float = brentq(lambda x: (number * sigmoid(x + own)).sum() / number.sum() - share, -12, 12)
    return found


@dataclass(frozen=True)
class Answers:
    """Numbers of questions `[document, run]` and of right answers, of the same shape."""

    right: NDArray[np.float64]
    asked: NDArray[np.float64]


def answers(world: str, at: float, documents: int, runs: int, rng: np.random.Generator) -> Answers:
    """Draw runs of a world at given log odds."""
    asked = sizes(world, (documents, runs), rng)
    right = rng.binomial(asked, sigmoid(at + log_odds(world, asked, rng)))
    return Answers(right.astype(float), asked.astype(float))


@dataclass(frozen=True)
class Contest:
    """Heads against offsets: hits `[document, head, relation]`, `[document, offset, relation]`, and question counts."""

    heads: NDArray[np.int32]
    offsets: NDArray[np.int32]
    asked: NDArray[np.int32]


def contest(
    world: str,
    *,
    documents: int,
    heads: int,
    relations: int,
    better: float,
    rng: np.random.Generator,
    effects: float = 0.0,
    best: float = 0.4,
    second: float = 0.35,
) -> Contest:
    """Draw heads exactly as good as the best offset, except one head in each relation that is `better`.

    One of ten offsets is right as often as the heads and two nearly so, so that a split may take the wrong one for the
    best; a document's difficulty is shared by all. With `effects`, a standard deviation in log odds, each head and
    offset also has its own effect on each document. More than 256 documents are summed in 256 groups, as in a run.
    """
    asked = sizes(world, (documents, relations), rng)
    shared = log_odds(world, asked, rng)[:, None]

    def drawn(shares: NDArray[np.float64]) -> NDArray[np.int32]:
        odds = np.log(shares / (1 - shares))[None, :, None] + shared
        if effects:
            odds = odds + rng.normal(0, effects, (documents, len(shares), relations))
        return grouped(rng.binomial(asked[:, None], sigmoid(odds)).astype(np.int32))

    skill = np.full(heads, best)
    skill[heads // 2] += better
    offsets = np.array([best, second, second, *[0.1] * 7])
    return Contest(drawn(skill), drawn(offsets), grouped(asked.astype(np.int32)))


def grouped(table: NDArray[Any], groups: int = GROUPS) -> NDArray[Any]:
    """Sum documents, the first axis, in at most `groups` groups."""
    if len(table) <= groups:
        return table
    return np.stack([table[first::groups].sum(0, dtype=table.dtype) for first in range(groups)])


@dataclass(frozen=True)
class Means:
    """Sums and counts `[document, run]` from which a mean is estimated, and the true mean."""

    sums: NDArray[np.float64]
    counts: NDArray[np.float64]
    truth: float


def positive_values(world: str, *, effects: float, documents: int, runs: int, rng: np.random.Generator) -> Means:
    """Draw exponential values with a log-normal document effect; in one world their level grows with size."""
    counts = sizes(world, (documents, runs), rng)
    sums = rng.gamma(counts) * np.exp(_effects(world, counts, effects, rng))
    return Means(sums, counts.astype(float), _mean_value(world, effects))


def attention_shares(
    world: str, *, share: float, effects: float, documents: int, runs: int, rng: np.random.Generator
) -> Means:
    """Draw 30 rows per unit of document size; some rows put 0.6 of their weight on a behavior's target.

    Args:
        world: one of `SIZES`.
        share: share of such rows in a median document.
        effects: standard deviation of the document effect, in log odds.
        documents, runs: numbers to draw.
        rng: generator of the random draws.
    """
    size = sizes(world, (documents, runs), rng)
    odds = np.log(share / (1 - share)) + _effects(world, size, effects, rng)
    sums = 0.6 * rng.binomial(30 * size, sigmoid(odds))
    return Means(sums, 30.0 * size, 0.6 * _mean_share(world, share, effects))


@cache
def _mean_value(world: str, effects: float, *, documents: int = 2_000_000) -> float:
    rng = np.random.default_rng(1)
    number = sizes(world, (documents,), rng)
    leaning = np.exp(_effects(world, number, 0.0, rng))
    return float(np.exp(effects**2 / 2) * (number * leaning).sum() / number.sum())


@cache
def _mean_share(world: str, share: float, effects: float, *, documents: int = 2_000_000) -> float:
    rng = np.random.default_rng(1)
    number = sizes(world, (documents,), rng)
    odds = np.log(share / (1 - share)) + _effects(world, number, effects, rng)
    return float((number * sigmoid(odds)).sum() / number.sum())


def _effects(world: str, number: NDArray[np.int64], spread: float, rng: np.random.Generator) -> NDArray[np.float64]:
    own = rng.normal(0, spread, number.shape)
    return own + _LEANING.get(world, 0.0) * np.log(number / 10)
