"""Is there a valley between two jobs? A test on documents that chose neither the jobs nor the place of the valley.

Where one hump is all there is, rows between two places are at least as dense as at the sparser of the two, whatever
the hump's shape: geometric, half-normal, uniform. Two jobs are told apart only where they are at most half as dense,
with Student's t over documents.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.confidence import FEWEST_DOCUMENTS, doubted
from headscope.statistics.estimate import ratio
from headscope.statistics.significance import p_above

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Windows = tuple[Integers, Floats]

DEPTH = 0.5
"""A valley is at most so many times as dense as the lower of its sides."""
_STEPS, _MIDDLE, _SIDE = 16, 3, 4
"""A line has so many steps from one center to the other; windows in the middle and on the sides have so many."""
_BEYOND = 8
"""It goes on for so many steps beyond each center."""


def valley_p(windows: Windows, documents: Integers) -> float:
    """Return the p that rows in the middle are not at most half as dense as at either side.

    Of the rows of a side and of the middle, documents say which share lies in the middle; one row more is added to
    their error, so that a few rows which all say the same are not taken for certainty.

    Args:
        windows: in which of the windows each row is: 0 before, 1 in the middle, 2 behind, -1 in none; and how wide
            the three are.
        documents: the number of each row's document.

    Returns:
        At most 1; 1 where no two documents have such rows.
    """
    inside, widths = windows
    _, numbers = np.unique(documents, return_inverse=True)
    groups = int(numbers.max(initial=-1)) + 1
    counts = np.stack(
        [np.bincount(numbers.reshape(-1)[inside == window], minlength=groups) for window in range(3)]
    )
    worst = 0.0
    for side in (0, 2):
        # What a row of the side weighs, so that those of the middle weigh 1.
        weight = DEPTH * widths[1] / widths[side]
        both = counts[side] + counts[1]
        estimate = doubted(ratio(weight * counts[side] - counts[1], both), np.asarray(both.sum()))
        # Whether there are documents enough is asked of the head, not of a part of its rows.
        p = float(p_above(replace(estimate, documents=np.array(FEWEST_DOCUMENTS))))
        worst = max(worst, p if np.count_nonzero(both) > 1 else 1.0)
    return worst


def line_windows(along: Floats) -> Callable[[Floats], Windows]:
    """Choose windows on the line between two centers, and return what says which of them rows are in.

    The middle one lies between the centers, where rows are sparsest beside the densest window on either side.

    Args:
        along: where rows lie, 0 at one center and 1 at the other.
    """
    counts = np.bincount(_steps(along), minlength=2 * _BEYOND + _STEPS + 2)[1:-1]
    sides, between = (
        np.convolve(counts, np.full(width, 1 / width), mode="valid") for width in (_SIDE, _MIDDLE)
    )
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

    Those on the sides hold the middle half of the keys there, the middle one all tokens between.

    Args:
        tokens: from key to row, below 0 for keys behind it.
    """
    ahead, back = tokens[tokens < 0], tokens[tokens > 0]
    if not len(ahead) or not len(back):
        return None
    (first, second), (third, fourth) = (
        np.quantile(own, (0.25, 0.75), method="nearest") for own in (ahead, back)
    )
    windows = np.array([[first, second], [second + 1, third - 1], [third, fourth]])

    return lambda other: (_inside(other, windows), np.diff(windows, axis=1)[:, 0] + 1.0)


def _inside(places: Integers, windows: Integers) -> Integers:
    """Return the window from the first to the last of whose places a row is, -1 for none, `[row]`."""
    inside = (places[:, None] >= windows[:, 0]) & (places[:, None] <= windows[:, 1])
    return np.where(inside.any(1), inside.argmax(1), -1)


def _steps(along: Floats) -> Integers:
    """Return on which step of the line rows lie, from 1; 0 before all of them, the last behind."""
    last = 2 * _BEYOND + _STEPS + 1
    return np.clip(np.floor(along * _STEPS).astype(np.int64) + _BEYOND + 1, 0, last)
