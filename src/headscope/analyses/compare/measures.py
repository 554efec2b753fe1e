"""The measures in which two models are compared: columns of `study.heads` as differences paired by document."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import NAMES, NATURAL, delimiters_of_run
from headscope.analyses.behaviors.sums import BehaviorAccumulator, NormBehaviorAccumulator
from headscope.analyses.compare.explained import ExplainedPairs
from headscope.analyses.compare.pairs import HeadChanges, PairedValues, paired_differences
from headscope.analyses.compare.tables import MEASURE_CHANGES
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.norms.compute import NormAccumulator
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, KEY_CLASSES, OUTPUT, VALUE
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.attention.head_id import SECOND
from headscope.models.anatomy import KindLayout
from headscope.prepare.prepared_run import ModelRun
from headscope.present.cells import records
from headscope.statistics.inference.significance import false_discovery
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.tables.frames import NORM

LEFT_OUT = "behaviors and explanations are left out, because they describe tokens, which differ between the models"
# Columns of `study.heads` that are never compared: deciles, because no influence of a document on them is known;
# experiments, which read other inputs; and the map of heads and its clusters, which belong to one model.


@dataclass(frozen=True, kw_only=True)
class HeadValues:
    """Some measures of the heads of one kind of attention, by group of documents.

    Attributes:
        columns: names of the columns of `study.heads`.
        sums: sums by group, `[group, layer, head, column]`.
        counts: numbers by which the sums are divided, of the same shape.
    """

    columns: tuple[str, ...]
    sums: NDArray[np.float64]
    counts: NDArray[np.float64]

    def of(self, heads: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sums and counts of some heads, `[group, head, column]`, given by 0-based layer and head."""
        layers, numbers = heads.T
        return self.sums[:, layers, numbers], self.counts[:, layers, numbers]


def accumulators_of(run: ModelRun, layout: Sequence[KindLayout], *, by_word: bool) -> list[Accumulator]:
    """Return empty accumulators of the statistics, and of the further measures that a run compares.

    Args:
        run: run of the first model.
        layout: kinds of attention of both models.
        by_word: whether the models have different tokens; behaviors and explanations are then left out.
    """
    wanted = run.options.measures
    norms = "norms" in wanted
    sums: list[Accumulator] = [NormStatsAccumulator(layout), NormAccumulator(layout)] if norms else []
    sums = sums or [StatsAccumulator(layout)]
    if "behaviors" in wanted and not by_word:
        sums.append((NormBehaviorAccumulator if norms else BehaviorAccumulator)(layout, delimiters_of_run(run)))
    if "explanation" in wanted and not by_word:
        sums.append(RowSampleAccumulator(layout, seed=run.options.seed))
    return sums


def measures_by_kind(sums: Sequence[Accumulator]) -> Mapping[str, list[HeadValues]]:
    """Return the measures of all heads, by kind of attention, from filled accumulators."""
    by_kind: dict[str, list[HeadValues]] = defaultdict(list)
    for each in sums:
        if isinstance(each, StatsAccumulator | BehaviorAccumulator):
            of_stats = isinstance(each, StatsAccumulator)
            analysis, names = ("stats", tuple(STATISTICS)) if of_stats else ("behaviors", NATURAL)
            at = [(tuple(STATISTICS) if of_stats else NAMES).index(name) for name in names]
            for means in each.compute():
                columns = tuple(f"{analysis}.{name}{'.norm' if means.measure == NORM else ''}" for name in names)
                counts = np.broadcast_to(means.counts.astype(np.float64), means.sums.shape)
                by_kind[means.kind].append(
                    HeadValues(columns=columns, sums=means.sums[..., at], counts=counts[..., at])
                )
        elif isinstance(each, NormAccumulator) and each.sums.stacked():
            for part in each.layout:
                by_kind[part.kind].append(_norms(each.sums.stacked(), part.kind))
    return by_kind


def _norms(stacked: Mapping[str, NDArray[np.float64]], kind: str) -> HeadValues:
    output, value = stacked[f"output.{kind}"], stacked[f"value.{kind}"]
    single = [
        (OUTPUT, output, stacked[f"n_output.{kind}"][:, :, None]),
        (IN_LAYER, output, output.mean(2, keepdims=True)),
        (IN_STREAM, stacked[f"in_stream.{kind}"], stacked[f"n_in_stream.{kind}"][:, :, None]),
    ]
    names, sums, counts = zip(*single, strict=True)
    of_value = np.broadcast_to(stacked[f"n_value.{kind}"][:, :, None], value.shape)
    return HeadValues(
        columns=tuple(f"norms.{name}" for name in (*names, *(f"{VALUE}.{each}" for each in KEY_CLASSES))),
        sums=np.concatenate([np.stack(sums, axis=-1), value], axis=-1),
        counts=np.concatenate(
            [np.stack([np.broadcast_to(each, output.shape) for each in counts], axis=-1), of_value], axis=-1
        ),
    )


def measure_table(
    measures: Mapping[str, Sequence[HeadValues]], results: Sequence[HeadChanges], explained: Sequence[ExplainedPairs]
) -> pd.DataFrame:
    """Return the differences of all measures as `measure_changes.parquet`, with q over heads and measures.

    A measure that one of the models lacks is left out.

    Args:
        measures: measures of all heads, by kind of attention of both models.
        results: pairs of heads.
        explained: explanations of the pairs; empty if they were not compared.
    """
    rows = [row for result in results for each in _paired(measures, result) for row in paired_differences(result, each)]
    for each in explained:
        rows += paired_differences(each.result, each.shares())
    table = pd.DataFrame(rows).rename(columns={"name": "column"})
    table["q_value"] = false_discovery(table.pop("p").to_numpy())
    return MEASURE_CHANGES.frame(records(table))


def _paired(measures: Mapping[str, Sequence[HeadValues]], result: HeadChanges) -> Iterator[PairedValues]:
    others = {each.columns: each for each in measures[SECOND + result.other_kind]}
    for each in measures[result.kind]:
        if (other := others.get(each.columns)) is not None:
            yield PairedValues(each.columns, each.of(result.first), other.of(result.second))
