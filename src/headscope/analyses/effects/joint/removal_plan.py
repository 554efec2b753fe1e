"""Plan the sets of heads that are removed together: growing first parts of an order, and random sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads

POINTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
"""Shares of the heads whose removal is measured, for every order."""
DRAWS = 20
"""Number of random orders."""
SETS = 64
"""Number of random sets of heads, for the additivity of effects."""
IN_SET = 1 / 4
"""The share of the heads that each of these sets removes."""

Integers = NDArray[np.int64]


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


def order_of(values: NDArray[np.float64]) -> Integers:
    """Sort heads by their values, the smallest first (a stable sort); heads without a value come first.

    Args:
        values: value of each head, NaN where it has none.
    """
    return np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")


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
