"""The stage that removes heads together: growing numbers of the first heads of several orders, and random sets."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.effects_text import FITS, EffectsText
from headscope.analyses.effects.joint_sums import (
    DRAWS,
    SETS,
    Curves,
    JointAccumulator,
    RemovalPlan,
    additivity_of,
    curves_of,
    order_of,
)
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.analyses.effects.tables import (
    AREA,
    ATTRIBUTION,
    EFFECT,
    GATE,
    JOINT_AREAS,
    JOINT_CURVES,
    JOINT_SUMS,
    LESS_RANDOM,
    LOSS,
    RANDOM,
)
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.model.loss_source import LossCounts
from headscope.encoding.segment import Segment
from headscope.present.head_columns import head_columns
from headscope.scans.prepare.loss_model import loss_of
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, ends_of, too_few
from headscope.statistics.sums.groups import group_of

_HALVES = (0, 1)
_LABEL = "heads removed together"


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


class JointEffectsMeasurement(Measurement[ModelRun]):
    """Measures the loss with many heads changed at once: how many can be removed, and whether effects add up.

    It reads the results of the stage `effects` on the same inputs; heads are ordered by one half of the documents and
    removed from inputs of the other half.

    Args:
        run: a `ModelRun`; its option `loss` names the loss, and `none` leaves the choice to the model's kind.
        **more: further arguments of `Measurement`.
    """

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        self.heads: Sequence[tuple[Layer, int]] = [
            ((part.kind, layer), head) for part in run.layout for layer, head in np.ndindex(part.layers, part.heads)
        ]
        self.texts = [
            EffectsText(
                run,
                self.watch,
                partial(self._change, half),
                most=run.options.effect_inputs,
                reads=partial(self._reads, half),
                what=_LABEL,
            )
            for half in _HALVES
        ]

    def _change(self, half: int) -> dict[str, Any]:
        """Return the changes of heads on the documents of a half."""
        return {"fits": [FITS[self.run.options.intervention]], "scopes": (), "sets": self.plans[half].heads()}

    def check(self) -> None:
        """Reject a loss for another kind of model."""
        loss_of(self.run)

    def scans(self) -> Iterator[Scan]:
        """Yield a scan of each half of the documents; none if the documents form a single group."""
        if self.earlier and len(self.halves.measured) < len(_HALVES):
            return
        for half, text in enumerate(self.texts):
            # Workers and other parts of a run do not have the results of the stage `effects`.
            number = len(self.plans[half].heads()) if self.earlier else 0
            yield Scan(text, [JointAccumulator(number=number)], f"half-{half + 1}", label=_LABEL, local=True)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables."""
        losses = [sums.of(JointAccumulator, scan).compute() for scan in sums]
        counts = np.concatenate([inputs for _, inputs in losses]) if losses else np.zeros(0)
        if not counts.sum():
            tables = {schema.name: schema.frame(()) for schema in (JOINT_CURVES, JOINT_AREAS, JOINT_SUMS)}
            few = "there are not two documents with something to predict"
            return StageResult(name="joint_effects", tables=tables, notes=notes_on(_LABEL, few))
        added = np.concatenate([added for added, _ in losses])
        plan = self.plans[0]
        numbers = np.array([0, *plan.numbers])
        curves = curves_of(_points(added[:, :-SETS], plan), counts, numbers, draws=DRAWS)
        additivity = additivity_of(added[:, -SETS:], self._effects(), counts, plan.sets, seed=self.run.options.seed)
        n_inputs = int(counts.sum())
        return StageResult(
            name="joint_effects",
            tables={
                **curve_tables(curves, list(plan.orders), n_inputs=n_inputs),
                "joint_sums": sums_table(additivity, plan, n_inputs=n_inputs),
            },
            facts={"joint_effects": self._facts()},
            notes=notes_on(_LABEL, too_few(len(counts), here="heads were removed together from")),
        )

    @cached_property
    def halves(self) -> Halves:
        """The two halves of the documents, and the documents that are measured."""
        groups = [group_of(segment.document) for segment in self.texts[0].inputs]
        return Halves.of(groups, most=self.run.options.joint_inputs)

    @cached_property
    def plans(self) -> list[RemovalPlan]:
        """The heads that are removed from the documents of each half."""
        seed = self.run.options.seed
        return [RemovalPlan.of(self.heads, self._orders(half), half=half, seed=seed) for half in _HALVES]

    def _orders(self, half: int) -> dict[str, NDArray[np.int64]]:
        """Return the orders in which heads are removed from the documents of a half, by name; the effect comes first.

        Effects and their estimates are those of the other half.
        """
        effects = EffectsAccumulator.from_state(self.earlier["effects"].state)
        effects.sums = effects.sums.subset(partial(self.halves.orders, half=half))
        kinds = effects.compute()
        values = {
            order: np.concatenate([each.intervals[measure].value.reshape(-1) for each in kinds])
            for order, measure in {EFFECT: LOSS, ATTRIBUTION: ATTRIBUTION, GATE: GATE}.items()
            if all(measure in each.intervals for each in kinds)
        }
        tables = {name: table for result in self.earlier.values() for name, table in result.tables.items()}
        columns = head_columns(tables.get).set_index(["kind", "layer", "head"])
        rows = [(kind, layer + 1, head + 1) for (kind, layer), head in self.heads]
        for name, column in COLUMNS.items():
            if column in columns and columns[column].notna().any():
                values[name] = columns[column].reindex(rows).to_numpy(dtype=np.float64)
        return {name: order_of(each) for name, each in values.items()}

    def _reads(self, half: int, segment: Segment) -> bool:
        return self.halves.measures(group_of(segment.document), half)

    def _effects(self) -> NDArray[np.float64]:
        """Return the sums of single heads' added losses in the measured documents, `[document, head]`.

        They are NaN for heads that were not changed singly.
        """
        effects = EffectsAccumulator.from_state(self.earlier["effects"].state)
        halves = [effects.sums.subset(partial(self.halves.measures, half=half)).stacked() for half in _HALVES]
        by_kind = []
        for part in self.run.layout:
            effect, number = (
                np.concatenate([half[f"{name}.{part.kind}"] for half in halves]) for name in ("effect", "n_effect")
            )
            added = np.where(number.any(0), effect[..., MEASURES.index("loss")], np.nan)
            by_kind.append(added.reshape(len(added), -1))
        return np.concatenate(by_kind, axis=1)

    def _facts(self) -> dict[str, Any]:
        counts = LossCounts()
        for text in self.texts:
            counts.merge(text.counts)
        return {
            **counts.facts(self.texts[0].loss),
            "intervention": self.run.options.intervention,
            "passes": round(max(text.passes for text in self.texts), 3),
        }


def _points(added: NDArray[np.float64], plan: RemovalPlan) -> NDArray[np.float64]:
    """Arrange losses as curves, `[document, order, point]`.

    A curve begins with no heads removed, which adds no loss, and ends with all, where all orders share the loss.

    Args:
        added: added losses, `[document, set]`, in the order of `RemovalPlan.heads` without the random sets.
        plan: plan with the sets.
    """
    documents, orders = len(added), len(plan.orders) + len(plan.draws)
    partial_sets = added[:, :-1].reshape(documents, orders, len(plan.numbers) - 1)
    whole = np.broadcast_to(added[:, -1:, None], (documents, orders, 1))
    return np.concatenate([np.zeros_like(whole), partial_sets, whole], axis=2)


def curve_tables(curves: Curves, names: Sequence[str], *, n_inputs: int) -> dict[str, pd.DataFrame]:
    """Return curves as `joint_curves.parquet` and `joint_areas.parquet`: named orders, random orders, their mean.

    Args:
        curves: curves of all orders.
        names: names of the orders that are not random.
        n_inputs: number of inputs on which they were measured.
    """
    draws = len(curves.area.value) - len(names) - 1
    orders: list[dict[str, Any]] = [
        *({"order": name, "draw": None} for name in names),
        *({"order": RANDOM, "draw": draw + 1} for draw in range(draws)),
        {"order": RANDOM, "draw": None},
    ]
    points = [
        {**order, "n_removed": int(number), **ends_of(curves.added, (index, at)), "n_inputs": n_inputs}
        for index, order in enumerate(orders)
        for at, number in enumerate(curves.numbers)
    ]
    areas = [
        {**order, "measure": measure, **ends_of(interval, index), "n_inputs": n_inputs}
        for index, order in enumerate(orders)
        for measure, interval in ((AREA, curves.area), (LESS_RANDOM, curves.less_random))
    ]
    return {"joint_curves": JOINT_CURVES.frame(points), "joint_areas": JOINT_AREAS.frame(areas)}


def sums_table(additivity: Mapping[str, Interval], plan: RemovalPlan, *, n_inputs: int) -> pd.DataFrame:
    """Return the additivity of effects as `joint_sums.parquet`.

    Args:
        additivity: added loss of sets, sum of effects, and R², by measure.
        plan: plan with the sets.
        n_inputs: number of inputs on which they were measured.
    """
    n_sets, size = plan.sets.shape
    about = {"n_removed": size, "n_sets": n_sets, "n_inputs": n_inputs}
    return JOINT_SUMS.frame(
        {"measure": name, **ends_of(interval, ()), **about} for name, interval in additivity.items()
    )
