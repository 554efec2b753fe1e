"""Made-up documents whose truth is known, for asking whether tests and intervals keep what they promise."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

SIZES = ("mild", "heavy-tailed", "size-dependent")
_OWN = 0.5
"""Standard deviation, in log odds, of what is a document's own."""
_LEANING = 0.3
"""Log odds that a document gains for each e-fold of size, where the mean depends on size."""


def sizes(world: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many questions documents ask: 1 to 20, or log-normal about 10 with a tail (sigma 1)."""
    if world == "mild":
        return rng.integers(1, 21, shape)
    return np.maximum(1, np.rint(rng.lognormal(np.log(10), 1.0, shape))).astype(np.int64)


def log_odds(world: str, number: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw what is each document's own, in log odds; in one world larger documents are easier."""
    own = rng.normal(0, _OWN, number.shape)
    return own + _LEANING * np.log(number / 10) if world == "size-dependent" else own


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn log odds into a share."""
    return 1 / (1 + np.exp(-x))


@cache
def level(world: str, share: float, *, documents: int = 200_000) -> float:
    """Find the log odds at which all questions of a world together are right so often."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(1)
    number = sizes(world, (documents,), rng)
    own = log_odds(world, number, rng)
    found: float = brentq(lambda x: (number * sigmoid(x + own)).sum() / number.sum() - share, -12, 12)
    return found


@dataclass(frozen=True)
class Answers:
    """Questions `[document, run]` and right answers of the same shape."""

    right: NDArray[np.float64]
    asked: NDArray[np.float64]


def answers(world: str, at: float, documents: int, runs: int, rng: np.random.Generator) -> Answers:
    """Draw runs of a world at so many log odds."""
    asked = sizes(world, (documents, runs), rng)
    right = rng.binomial(asked, sigmoid(at + log_odds(world, asked, rng)))
    return Answers(right.astype(float), asked.astype(float))


@dataclass(frozen=True)
class Contest:
    """Heads against offsets: hits `[document, head, relation]`, `[document, offset, relation]`, and questions."""

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
    best: float = 0.4,
    second: float = 0.35,
) -> Contest:
    """Draw heads that are exactly as good as the best offset, but for one in each relation that is `better`.

    Of ten offsets one is right as often as the heads and two nearly, so that a split may take the wrong one for the
    strongest; documents are easy or hard for all alike.
    """
    asked = sizes(world, (documents, relations), rng)
    own = log_odds(world, asked, rng)[:, None]

    def drawn(shares: NDArray[np.float64]) -> NDArray[np.int32]:
        odds = np.log(shares / (1 - shares))[None, :, None]
        return rng.binomial(asked[:, None], sigmoid(odds + own)).astype(np.int32)

    skill = np.full(heads, best)
    skill[heads // 2] += better
    offsets = np.array([best, second, second, *[0.1] * 7])
    return Contest(drawn(skill), drawn(offsets), asked.astype(np.int32))
