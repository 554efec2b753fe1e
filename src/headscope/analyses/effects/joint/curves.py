"""The loss against the number of heads removed, the area below it, and what it is less than at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, ratio_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """The loss that is added as heads go, in several orders.

    Attributes:
        numbers: of heads removed, from 0 to all, `[point]`.
        added: nats, `[order, point]`; behind the named orders the random ones, and behind these their mean.
        area: below each curve, over the share of heads removed, nats, `[order]`.
        less_random: the area less that of the mean of the random orders, nats, `[order]`.
    """

    numbers: NDArray[np.int64]
    added: Interval
    area: Interval
    less_random: Interval


def curves_of(losses: Floats, counts: NDArray[Any], numbers: NDArray[np.int64], *, draws: int) -> Curves:
    """Return the curves with intervals over documents, on which all orders are paired.

    Args:
        losses: sums of added losses of each document, `[document, order, point]`, the random orders last.
        counts: number of inputs of each document, `[document]`.
        numbers: of heads removed at each point, from 0 to all.
        draws: how many orders are random.
    """
    random = losses[:, -draws:].mean(1, keepdims=True)
    every = np.concatenate([losses, random], axis=1)
    areas = area_below(every, numbers / numbers[-1])
    return Curves(
        numbers=numbers,
        added=ratio_interval(every, counts[:, None, None], scale="real"),
        area=ratio_interval(areas, counts[:, None], scale="real"),
        less_random=ratio_interval(areas - areas[:, -1:], counts[:, None], scale="real"),
    )


def area_below(values: Floats, at: Sequence[float] | Floats) -> Floats:
    """Return the area below curves, straight between their points.

    Args:
        values: at the points, `[..., point]`.
        at: where the points are, ascending.
    """
    return ((values[..., 1:] + values[..., :-1]) / 2) @ np.diff(at)
