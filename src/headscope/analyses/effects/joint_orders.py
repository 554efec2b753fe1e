"""Orders in which heads are removed, and sets: growing first parts of an order, and random sets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.effects.sums import ATTRIBUTION, GATE, LOSS, EffectsAccumulator
from headscope.analyses.effects.tables import EFFECT
from headscope.analyses.measurement import StageResult
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads
from headscope.present.head_columns import head_columns

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


COLUMNS: Mapping[str, str] = {
    "output_norm": "norms.output_norm_in_stream",
    "explained": "explanation.explained",
    "non_sink": "norms.non_sink",
}
"""Measures that do not use the loss, so that no documents need to be held out for them: columns of `study.heads`."""


@dataclass(frozen=True)
class Halves:
    """The two halves of the documents of a sample, by group.

    Attributes:
        half: half of each group, 0 or 1.
        measured: groups whose documents are measured; the other groups are only used to order heads.
    """

    half: Mapping[int, int]
    measured: frozenset[int]

    @classmethod
    def of(cls, groups: Iterable[int], *, most: int) -> "Halves":
        """Divide documents into halves, and choose whole groups to measure until `most` inputs are reached.

        Args:
            groups: group of the document of every input.
            most: number of inputs to measure; at least two groups are measured.
        """
        inputs = Counter(groups)
        in_order = sorted(inputs)
        before = np.cumsum([0, *(inputs[group] for group in in_order)])
        measured = [group for rank, group in enumerate(in_order) if rank < 2 or before[rank] < most]
        return cls({group: rank % 2 for rank, group in enumerate(in_order)}, frozenset(measured))

    def measures(self, group: int, half: int) -> bool:
        """Return True if the documents of a group are measured in a half."""
        return group in self.measured and self.half[group] == half

    def orders(self, group: int, half: int) -> bool:
        """Return True if the documents of a group order the heads that are removed from the documents of a half."""
        return self.half.get(group) != half


def orders_of(
    earlier: Mapping[str, StageResult], heads: Sequence[tuple[Layer, int]], halves: Halves, *, half: int
) -> dict[str, Integers]:
    """Return the orders in which heads are removed from the documents of a half, by name; the effect comes first.

    Args:
        earlier: results of earlier stages, by name, including `effects`.
        heads: heads of the model.
        halves: halves of the documents.
        half: half from whose documents heads are removed.
    """
    effects = EffectsAccumulator.from_state(earlier["effects"].state)
    effects.sums = effects.sums.subset(partial(halves.orders, half=half))
    kinds = effects.compute()
    values = {
        order: np.concatenate([each.intervals[measure].value.reshape(-1) for each in kinds])
        for order, measure in {EFFECT: LOSS, ATTRIBUTION: ATTRIBUTION, GATE: GATE}.items()
        if all(measure in each.intervals for each in kinds)
    }
    values |= _of_text(earlier, heads)
    return {name: order_of(each) for name, each in values.items()}


def _of_text(earlier: Mapping[str, StageResult], heads: Sequence[tuple[Layer, int]]) -> dict[str, NDArray[np.float64]]:
    tables = {name: table for result in earlier.values() for name, table in result.tables.items()}
    columns = head_columns(tables.get).set_index(["kind", "layer", "head"])
    rows = [(kind, layer + 1, head + 1) for (kind, layer), head in heads]
    return {
        name: columns[column].reindex(rows).to_numpy(dtype=np.float64)
        for name, column in COLUMNS.items()
        if column in columns and columns[column].notna().any()
    }
