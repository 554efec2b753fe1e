"""Orders in which heads are removed, from held-out documents, or from the run's text for measures without the loss."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.effects.accumulator import ATTRIBUTION, GATE, LOSS, EffectsAccumulator
from headscope.analyses.effects.joint.removal_plan import Integers, order_of
from headscope.analyses.effects.joint.tables import EFFECT
from headscope.analyses.stage_result import StageResult
from headscope.attention.interventions.block_plan import Layer
from headscope.study.head_columns import head_columns

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
