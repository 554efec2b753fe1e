"""Whether rows of attention are what a softmax gives: no weight below 0, none on a hidden key, a sum of 1.

How far a sum may lie from 1 follows from how weights are rounded. A weight w kept with p bits is off by w 2^-p at
most, so a row of them by 2^-p however long it is: 2^-11 for float16, and 2^-8 / 2 for bfloat16, the coarsest that
a model computes in. Twice the latter lets maps be rounded once by the model, once by joining a word's pieces and once
by being stored. Weights below float16's normal range are rounded to multiples of 2^-24 instead: 2^-25 more a key.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 2.0**-8
_ROUNDING_OF_THE_SMALLEST = 2.0**-25


@dataclass(frozen=True)
class WrongRow:
    """A row that is no distribution.

    Attributes:
        index: 0-based place of the row in the array, `(..., query)`.
        what: what is wrong with it and what was expected, to follow "row 3".
    """

    index: tuple[int, ...]
    what: str


def sum_tolerance(keys: int) -> float:
    """Return how far the sum of a row of so many weights may lie from 1."""
    return _ROUNDING + keys * _ROUNDING_OF_THE_SMALLEST


def wrong_row(
    weights: NDArray[np.float32], *, hidden: NDArray[np.float32] | None = None, partly: bool = False
) -> WrongRow | None:
    """Return the first row that is no distribution over the keys that it may look at, or None.

    Right rows take two or three passes over the weights, each as fast as memory; only wrong ones are searched.

    Args:
        weights: after the softmax, `[..., query, key]`.
        hidden: 1 for the keys that a row may not look at, else 0, `[query, key]`; None where it may look at all.
        partly: whether a row may sum to less than 1, as where tokens were cut out of it.
    """
    *_, rows, keys = weights.shape
    if not weights.size:
        return None
    allowed = sum_tolerance(keys)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = (weights.reshape(-1, keys) @ np.ones(keys, dtype=np.float32)).reshape(weights.shape[:-1])
        most, least = float(sums.max()), float(sums.min())
        # Written so that NaN is wrong. No weight can be over 1 where none is negative and the sums are right.
        right = bool(weights.min() >= 0) and most <= 1 + allowed and (partly or least >= 1 - allowed)
        if right and hidden is not None:
            right = not (weights.reshape(-1, rows * keys) @ hidden.reshape(-1)).any()
        return None if right else _first(weights, sums, hidden, allowed=allowed, partly=partly)


def _first(
    weights: NDArray[np.float32],
    sums: NDArray[np.float32],
    hidden: NDArray[np.float32] | None,
    *,
    allowed: float,
    partly: bool,
) -> WrongRow:
    outside = ~((weights >= 0) & (weights <= 1 + allowed))
    weight_on_hidden = (weights != 0) & (hidden != 0) if hidden is not None else np.zeros_like(outside)
    too_far = (sums > 1 + allowed) if partly else ~(np.abs(sums - 1) <= allowed)
    wrong = outside.any(-1) | weight_on_hidden.any(-1) | too_far
    index = tuple(int(at) for at in np.argwhere(wrong)[0])
    if outside[index].any():
        value = float(weights[index][outside[index]][0])
        return WrongRow(index, f"holds {value:.4g}; expected weights between 0 and 1")
    if weight_on_hidden[index].any():
        key = int(np.flatnonzero(weight_on_hidden[index])[0])
        value = float(weights[index][key])
        return WrongRow(index, f"holds {value:.4g} for key {key + 1}, which is masked; expected 0")
    at_most = " at most" if partly else ""
    return WrongRow(index, f"sums to {float(sums[index]):.4g}; expected 1{at_most}")
