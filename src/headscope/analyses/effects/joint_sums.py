"""Sets of heads that are removed at once, and their losses: sums, curves, and the additivity of effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from headscope.analyses.effects.tables import JOINT, R2_LINEAR, R2_TOTAL, TOTAL
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads
from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import Interval, ratio_interval, resampling_weights
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, counted, summed

_LOSS = MEASURES.index("loss")
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

POINTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
"""Shares of the heads whose removal is measured, for every order."""
DRAWS = 20
"""Number of random orders."""
SETS = 64
"""Number of random sets of heads, for the additivity of effects."""
IN_SET = 1 / 4
"""The share of the heads that each of these sets removes."""


@dataclass(frozen=True, eq=False)
class RemovalPlan:
    """Sets of heads that are removed from the inputs of one half of the documents. Heads are numbered over the model.

    Attributes:
        layers: layer of every head and its number in it, in the order of the model's kinds of attention.
        orders: orders in which heads are removed, by name, `[head]` each; random orders are matched to the first.
        draws: random orders, `[draw, head]`.
        sets: heads of random sets, `[set, head]`.
    """

    layers: Sequence[tuple[Layer, int]]
    orders: Mapping[str, Integers]
    draws: Integers
    sets: Integers

    @classmethod
    def of(
        cls, heads: Sequence[tuple[Layer, int]], orders: Mapping[str, Integers], *, half: int, seed: int
    ) -> "RemovalPlan":
        """Draw the random orders and sets.

        Args:
            heads: heads of the model: layer, and number in the layer, from 0.
            orders: orders by name, from the other half of the documents.
            half: half from whose documents heads are removed; random sets are the same for both halves.
            seed: seed of the random draws.
        """
        first = next(iter(orders.values()))
        names = list(dict.fromkeys(layer for layer, _ in heads))
        numbers = np.array([names.index(layer) for layer, _ in heads])
        return cls(
            layers=heads,
            orders=orders,
            draws=matched_draws(first, numbers, draws=DRAWS, generator=np.random.default_rng([seed, half])),
            sets=random_sets(len(heads), sets=SETS, generator=np.random.default_rng([seed, 2])),
        )

    @property
    def numbers(self) -> Integers:
        """The number of heads that each point of a curve removes, ascending; the last point removes all heads."""
        return removed_numbers(len(self.layers))

    def heads(self) -> list[Heads]:
        """Return the sets of heads: those of each order, the random orders last, then all heads, then random sets."""
        orders = [*self.orders.values(), *self.draws]
        partial = [order[:number] for order in orders for number in self.numbers[:-1]]
        return [self._named(each) for each in (*partial, range(len(self.layers)), *self.sets)]

    def _named(self, numbers: Sequence[int] | Integers) -> Heads:
        named: dict[Layer, list[int]] = {}
        for number in sorted(int(each) for each in numbers):
            layer, head = self.layers[number]
            named.setdefault(layer, []).append(head)
        return named


def removed_numbers(heads: int) -> Integers:
    """Return the distinct positive numbers of heads that are removed at `POINTS`, for a total of `heads`."""
    numbers = np.unique([int(share * heads + 0.5) for share in POINTS])
    return numbers[numbers > 0]


def matched_draws(order: Integers, layers: Integers, *, draws: int, generator: np.random.Generator) -> Integers:
    """Draw random orders whose head is from the same layer as the given order's at every step, `[draw, head]`.

    Args:
        order: order of the heads.
        layers: layer of each head, by its number.
        draws: number of random orders.
        generator: random generator.
    """
    drawn = np.tile(order, (draws, 1))
    for layer in np.unique(layers):
        of_layer = np.flatnonzero(layers[order] == layer)
        drawn[:, of_layer] = generator.permuted(drawn[:, of_layer], axis=1)
    return drawn


def random_sets(heads: int, *, sets: int, generator: np.random.Generator) -> Integers:
    """Draw random sets of a quarter of the heads, rounded up, all heads with equal probability, `[set, head]`."""
    number = int(np.ceil(IN_SET * heads))
    return np.stack([generator.choice(heads, size=number, replace=False) for _ in range(sets)])


def order_of(values: NDArray[np.float64]) -> Integers:
    """Sort heads by their values, the smallest first (a stable sort); heads without a value come first.

    Args:
        values: value of each head, NaN where it has none.
    """
    return np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")


class JointAccumulator(Accumulator):
    """Sums the added losses of sets of heads (the mean over each input's targets) by group of documents.

    Args:
        layout: kinds of attention and their sizes.
        number: number of sets.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})
    parameters: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(self, layout: Sequence[KindLayout] | None = None, *, number: int) -> None:
        self.number = number
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sums of added losses, and the numbers of inputs."""
        return {"sets": summed(self.number), "n_inputs": counted(1)}

    def update(self, tile: AttentionTile) -> None:
        """Add the losses of a batch once, although they come with every layer."""
        first = (tile.kind, tile.layer) == (self.layout[0].kind, 0)
        if first and tile.start == 0 and tile.effects is not None:
            assert tile.effects.sets is not None
            self.add(tile, sets=tile.effects.sets[:, :, 0, _LOSS], n_inputs=1)

    def compute(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return sums by document (or group), nats, `[document, set]`, and its number of inputs, `[document]`."""
        sums = self.sums.stacked()
        return sums["sets"], sums["n_inputs"][:, 0]


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


FOLDS = 8
"""Number of cross-validation folds of the sets; each fold is predicted by a model fitted to the others."""
_PENALTIES = np.logspace(-3, 4, 15)


def additivity_of(
    losses: Floats, effects: Floats, counts: NDArray[Any], sets: NDArray[np.int64], *, seed: int = 0
) -> dict[str, Interval]:
    """Compare the added losses of sets of heads with sums over their heads, on the same documents.

    The result has each measure of `tables.SUMS`. The added loss of sets, and the sum of the effects of their
    heads, are means over sets, in nats, with intervals over documents; R² between sets has intervals over sets.

    Args:
        losses: sums of the added loss of each set in each document, nats, `[document, set]`.
        effects: sums of the added loss of each single head, `[document, head]`; NaN where it is not known.
        counts: number of inputs of each document, `[document]`.
        sets: heads of each set, `[set, head]`.
        seed: seed of the folds and of the bootstrap.
    """
    removed = np.zeros((len(sets), effects.shape[1]))
    np.put_along_axis(removed, sets, 1.0, axis=1)
    joint, single = losses.sum(0) / counts.sum(), effects.sum(0) / counts.sum()
    total = removed @ single
    linear = linear_prediction(removed, joint, removed @ np.nan_to_num(single), seed=seed)
    return {
        JOINT: ratio_interval(losses.mean(1), counts, scale="real"),
        TOTAL: ratio_interval((effects @ removed.T).mean(1), counts, scale="real"),
        R2_TOTAL: r2_interval(joint, total, seed=seed),
        R2_LINEAR: r2_interval(joint, linear, seed=seed),
    }


def linear_prediction(removed: Floats, joint: Floats, total: Floats, *, seed: int) -> Floats:
    """Predict the added loss of each set by ridge regression on the removed heads, fitted to other sets.

    Coefficients are shrunk toward the effects of single heads, not toward 0, so that sets may be fewer than heads.

    Args:
        removed: 1 where a set removes a head, else 0, `[set, head]`.
        joint: added loss of each set.
        total: sum of the effects of each set's heads.
        seed: seed of the folds.
    """
    predicted = np.empty_like(joint)
    for fitted, others in KFold(FOLDS, shuffle=True, random_state=seed).split(removed):
        ridge = RidgeCV(alphas=_PENALTIES).fit(removed[fitted], (joint - total)[fitted])
        predicted[others] = total[others] + ridge.predict(removed[others])
    return predicted


def r2_interval(joint: Floats, predicted: Floats, *, seed: int) -> Interval:
    """Compute R² = 1 - mean squared error / variance, with its bootstrap percentile interval over sets.

    Args:
        joint: added loss of each set.
        predicted: predicted added loss of each set.
        seed: seed of the bootstrap.
    """
    weights = np.vstack([np.full(len(joint), 1.0), resampling_weights(len(joint), seed=seed)]) / len(joint)
    variance = weights @ joint**2 - (weights @ joint) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = np.where(variance > 0, 1 - weights @ (joint - predicted) ** 2 / variance, np.nan)
    low, high = np.nanquantile(r2[1:], [0.025, 0.975]) if np.isfinite(r2[1:]).any() else (np.nan, np.nan)
    return Interval(r2[0], np.asarray(low), np.asarray(high))
