"""Check that rows of attention are distributions: no weight below 0, no weight on a hidden key, a sum of 1.

The tolerance of a sum follows from the rounding of weights. A weight w stored with p bits is off by at most w 2^-p, so
the sum of a row by at most 2^-p, however long it is: 2^-11 for float16, and 2^-8 / 2 for bfloat16, the coarsest type
that a model computes in. Twice the latter allows three roundings: by the model, by joining a word's pieces and by
storing the maps. Weights below float16's normal range are rounded to multiples of 2^-24 instead: 2^-25 more per key.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 2.0**-8
_ROUNDING_OF_THE_SMALLEST = 2.0**-25


@dataclass(frozen=True)
class WrongRow:
    """A row that is not a distribution.

    Attributes:
        index: 0-based position of the row in the array, `(..., query)`.
        what: error in the row and expected value, to follow "row 3".
    """

    index: tuple[int, ...]
    what: str


def sum_tolerance(keys: int) -> float:
    """Return the tolerance of the sum of a row of `keys` weights, as a distance from 1."""
    return _ROUNDING + keys * _ROUNDING_OF_THE_SMALLEST


def wrong_row(
    weights: NDArray[np.float32], *, hidden: NDArray[np.float32] | None = None, partly: bool = False
) -> WrongRow | None:
    """Return the first row that is not a distribution over its visible keys, or None.

    Right rows take two or three passes over the weights, each as fast as memory; only wrong rows are searched.

    Args:
        weights: weights after the softmax, `[..., query, key]`.
        hidden: 1 for the keys that are hidden from a row, else 0, `[query, key]`; None if no key is hidden.
        partly: whether a row may sum to less than 1, for example because tokens were cut out of it.
    """
    *_, rows, keys = weights.shape
    if not weights.size:
        return None
    allowed = sum_tolerance(keys)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = (weights.reshape(-1, keys) @ np.ones(keys, dtype=np.float32)).reshape(weights.shape[:-1])
        most, least = float(sums.max()), float(sums.min())
        # Comparisons are written so that NaN is wrong. No weight exceeds 1 if none is negative and the sums are right.
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
