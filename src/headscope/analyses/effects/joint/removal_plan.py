"""Which heads are removed together: the first of an order, more and more of them, and sets drawn at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads

POINTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
"""Shares of the heads whose removal is measured, of every order."""
DRAWS = 20
"""Random orders."""
SETS = 64
"""Random sets of heads, for how far effects add up."""
IN_SET = 1 / 4
"""The share of the heads that each of these sets removes."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RemovalPlan:
    """Sets of heads that are removed from the inputs of one half of the documents. Heads are counted through the model.

    Attributes:
        layers: of every head, in the order of the model's kinds of attention.
        orders: in which heads go, by name, `[head]` each; the first is that which random ones are matched to.
        draws: random orders, `[draw, head]`.
        sets: the heads of random sets, `[set, head]` each.
    """

    layers: Sequence[tuple[Layer, int]]
    orders: Mapping[str, Integers]
    draws: Integers
    sets: Integers

    @classmethod
    def of(
        cls, heads: Sequence[tuple[Layer, int]], orders: Mapping[str, Integers], *, half: int, seed: int
    ) -> "RemovalPlan":
        """Draw what is random.

        Args:
            heads: of the model: the layer, and the number in it, from 0.
            orders: by name, as the other half of the documents gives them.
            half: for whose documents; random sets are the same for both.
            seed: of the draws.
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
        """How many heads each point of a curve removes, ascending; the last is all of them."""
        return removed_numbers(len(self.layers))

    def heads(self) -> list[Heads]:
        """Return the sets: those of each order, the random orders last, then all heads, then the random sets."""
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
    """Return how many heads of so many are removed at `POINTS`, each number once and none of them 0."""
    numbers = np.unique([int(share * heads + 0.5) for share in POINTS])
    return numbers[numbers > 0]


def order_of(values: NDArray[np.float64]) -> Integers:
    """Return heads in the order of their values, the smallest first; equal ones as they stand, those without before.

    Args:
        values: of each head, NaN where it has none.
    """
    return np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")


def matched_draws(order: Integers, layers: Integers, *, draws: int, generator: np.random.Generator) -> Integers:
    """Draw orders that take a head of the same layer as a given order at every step, `[draw, head]`.

    Args:
        order: of the heads.
        layers: of each head, by its number.
        draws: how many.
        generator: of what is random.
    """
    drawn = np.tile(order, (draws, 1))
    for layer in np.unique(layers):
        of_layer = np.flatnonzero(layers[order] == layer)
        drawn[:, of_layer] = generator.permuted(drawn[:, of_layer], axis=1)
    return drawn


def random_sets(heads: int, *, sets: int, generator: np.random.Generator) -> Integers:
    """Draw sets of a quarter of the heads, rounded up, every head alike, `[set, head]`."""
    number = int(np.ceil(IN_SET * heads))
    return np.stack([generator.choice(heads, size=number, replace=False) for _ in range(sets)])
