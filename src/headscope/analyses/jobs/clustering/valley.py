"""A test for a valley between two jobs, on documents that chose neither the jobs nor the position of the valley.

In a unimodal distribution, rows between two points are at least as dense as at the sparser of the two, whatever its
shape: geometric, half-normal, uniform. Two jobs are separate only where the density between them is at most half of
that, by Student's t over documents.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, doubted
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import p_above

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Windows = tuple[Integers, Floats]

DEPTH = 0.5
"""The largest density of a valley, relative to the lower of its sides."""
_STEPS, _MIDDLE, _SIDE = 16, 3, 4
"""Number of steps from one center to the other, and widths in steps of the windows in the middle and on the sides."""
_BEYOND = 8
"""Number of steps that the line extends beyond each center."""


def valley_p(windows: Windows, documents: Integers) -> float:
    """Return the p of the hypothesis that rows in the middle are more than half as dense as at either side.

    The test compares, over documents, the rows in the middle with those on a side; one row is added to the error, so
    that a few unanimous rows do not pass for certainty.

    Args:
        windows: the window of each row: 0 before, 1 in the middle, 2 behind, -1 in none; and the widths of the
            three.
        documents: the number of each row's document.

    Returns:
        At most 1; 1 where no two documents have such rows.
    """
    inside, widths = windows
    _, numbers = np.unique(documents, return_inverse=True)
    groups = int(numbers.max(initial=-1)) + 1
    counts = np.stack([np.bincount(numbers.reshape(-1)[inside == window], minlength=groups) for window in range(3)])
    worst = 0.0
    for side in (0, 2):
        # The weight of a row on the side, relative to a row in the middle.
        weight = DEPTH * widths[1] / widths[side]
        both = counts[side] + counts[1]
        estimate = doubted(ratio(weight * counts[side] - counts[1], both), np.asarray(both.sum()))
        # The head as a whole has enough documents; these are only some of its rows.
        p = float(p_above(replace(estimate, documents=np.array(FEWEST_DOCUMENTS))))
        worst = max(worst, p if np.count_nonzero(both) > 1 else 1.0)
    return worst


def line_windows(along: Floats) -> Callable[[Floats], Windows]:
    """Choose windows on the line between two centers, and return a function from rows to their windows.

    The middle window lies between the centers, where rows are sparsest relative to the densest window on either side.

    Args:
        along: positions of rows, 0 at one center and 1 at the other.
    """
    counts = np.bincount(_steps(along), minlength=2 * _BEYOND + _STEPS + 2)[1:-1]
    sides, between = (np.convolve(counts, np.full(width, 1 / width), mode="valid") for width in (_SIDE, _MIDDLE))
    middles = np.arange(_BEYOND, _BEYOND + _STEPS - _MIDDLE + 1)
    before = np.array([sides[: at - _SIDE + 1].argmax() for at in middles])
    behind = np.array([at + _MIDDLE + sides[at + _MIDDLE :].argmax() for at in middles])
    best = int((between[middles] / np.maximum(np.minimum(sides[before], sides[behind]), 1.0)).argmin())
    begins = np.array([before[best], middles[best], behind[best]])
    widths = np.array([_SIDE, _MIDDLE, _SIDE])
    edges = np.stack([begins, begins + widths - 1], axis=1)
    return lambda other: (_inside(_steps(other) - 1, edges), widths.astype(np.float64))


def side_windows(tokens: Integers) -> Callable[[Integers], Windows] | None:
    """Choose windows on either side of a row's own token; None where keys lie on one side only.

    The windows on the sides hold the middle half of the keys there, the middle window all tokens between.

    Args:
        tokens: distance from key to row, negative for keys behind it.
    """
    ahead, back = tokens[tokens < 0], tokens[tokens > 0]
    if not len(ahead) or not len(back):
        return None
    (first, second), (third, fourth) = (np.quantile(side, (0.25, 0.75), method="nearest") for side in (ahead, back))
    windows = np.array([[first, second], [second + 1, third - 1], [third, fourth]])

    return lambda other: (_inside(other, windows), np.diff(windows, axis=1)[:, 0] + 1.0)


def _inside(positions: Integers, windows: Integers) -> Integers:
    """Return the window that contains each position, ends included, -1 for none, `[row]`."""
    inside = (positions[:, None] >= windows[:, 0]) & (positions[:, None] <= windows[:, 1])
    return np.where(inside.any(1), inside.argmax(1), -1)


def _steps(along: Floats) -> Integers:
    """Return the step of the line on which rows lie, 1-based; 0 before the line, the last behind it."""
    last = 2 * _BEYOND + _STEPS + 1
    return np.clip(np.floor(along * _STEPS).astype(np.int64) + _BEYOND + 1, 0, last)
