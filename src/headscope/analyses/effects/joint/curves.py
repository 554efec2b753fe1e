"""Curves of the added loss by the number of heads removed, their areas, and differences from random orders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval, ratio_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """The added loss as heads are removed in several orders.

    Attributes:
        numbers: numbers of heads removed, from 0 to all, `[point]`.
        added: added loss, nats, `[order, point]`; named orders first, then random orders, then their mean.
        area: area below each curve, over the share of heads removed, nats, `[order]`.
        less_random: area minus that of the mean of the random orders, nats, `[order]`.
    """

    numbers: NDArray[np.int64]
    added: Interval
    area: Interval
    less_random: Interval


def curves_of(losses: Floats, counts: NDArray[Any], numbers: NDArray[np.int64], *, draws: int) -> Curves:
    """Compute the curves with intervals over documents; all orders are paired by document.

    Args:
        losses: sums of added losses of each document, `[document, order, point]`, the random orders last.
        counts: number of inputs of each document, `[document]`.
        numbers: number of heads removed at each point, from 0 to all.
        draws: number of random orders.
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
    """Compute the area below curves by the trapezoidal rule.

    Args:
        values: values at the points, `[..., point]`.
        at: positions of the points, ascending.
    """
    return ((values[..., 1:] + values[..., :-1]) / 2) @ np.diff(at)
