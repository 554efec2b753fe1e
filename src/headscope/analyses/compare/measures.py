"""The measures in which two models are compared, and the groups that explain their heads, paired by document."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import NAMES, NATURAL, delimiters_of_run
from headscope.analyses.behaviors.sums import BehaviorAccumulator, NormBehaviorAccumulator
from headscope.analyses.compare.pairs import SAME, HeadChanges, PairedValues, paired_differences
from headscope.analyses.compare.tables import COMPARE_GROUPS, GAINED, LOST, MEASURE_CHANGES
from headscope.analyses.explanation.catalog import CATALOG
from headscope.analyses.explanation.divergences import HeadExplanation
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.order import LEAST_GAIN
from headscope.analyses.explanation.sample import contexts_of, row_sample, token_counts
from headscope.analyses.explanation.sums import RowSampleAccumulator, SampledRows
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.norms.compute import NormAccumulator
from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, KEY_CLASSES, OUTPUT, VALUE
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.attention.head_id import SECOND
from headscope.models.anatomy import KindLayout
from headscope.present.cells import records
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_DIVERGENCE, SIGNIFICANT, false_discovery
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.tables.frames import NORM

LEFT_OUT = "behaviors and explanations are left out, because they describe tokens, which differ between the models"
# Columns of `study.heads` that are never compared: deciles, because no influence of a document on them is known;
# experiments, which read other inputs; and the map of heads and its clusters, which belong to one model.
SHARE = "explanation.explained"


@dataclass(frozen=True, eq=False)
class ExplainedPairs:
    """The explanations of the heads of pairs in which both have something to explain.

    Attributes:
        result: the pairs.
        first: explanations of the first model's heads, in the order of the pairs.
        second: explanations of the second model's heads, over the same documents.
    """

    result: HeadChanges
    first: Sequence[HeadExplanation]
    second: Sequence[HeadExplanation]

    def _paired(self, names: Sequence[str]) -> PairedValues:
        sides = []
        for heads in (self.first, self.second):
            counts = np.stack([head.to_explain for head in heads], axis=1)
            sums = [np.stack([_explained(head, name) for head in heads], axis=1) for name in names]
            # A share of nearly nothing says nothing.
            counts = counts * [_says_much(head) for head in heads]
            sides.append((np.stack(sums, axis=-1), np.repeat(counts[..., None], len(names), axis=-1)))
        return PairedValues(names, *sides)

    def shares(self) -> PairedValues:
        """Return the explained share of each head, by document."""
        return self._paired([SHARE])

    def groups(self) -> PairedValues:
        """Return what each group adds to the explained share of each head, by document."""
        return self._paired(sorted({group for head in (*self.first, *self.second) for group in head.gained}))


def _explained(head: HeadExplanation, name: str) -> NDArray[np.float64]:
    """Return the divergence that a group explains of each document, or that all features explain."""
    return head.to_explain - head.left if name == SHARE else head.gained.get(name, np.zeros(len(head.to_explain)))


def _says_much(head: HeadExplanation) -> bool:
    return head.mass > 0 and float(head.to_explain.sum()) / head.mass >= LEAST_DIVERGENCE


def explained_pairs(
    run: ModelRun, sample: RowSampleAccumulator, results: Sequence[HeadChanges]
) -> list[ExplainedPairs]:
    """Explain the heads of both models; pairs of a kind with fewer than 10 documents are left out.

    All heads are fitted together, to the same rows with the same features, and equal heads have equal explanations.

    Args:
        run: run of the first model.
        sample: sampled rows of both models.
        results: pairs of heads.
    """
    from threadpoolctl import threadpool_limits

    rows, pairs = sample.compute(), []
    facts = VocabularyFacts.of_model(run.loaded.model, run.loaded.tokenizer)
    for result in results:
        both = joined_rows(rows[result.kind], rows[SECOND + result.other_kind])
        if len({each.document for each in both}) < FEWEST_DOCUMENTS:
            continue
        vocabulary = facts.with_counts(token_counts(both))
        features = list(CATALOG.features.values())
        design = row_sample(both, features, contexts_of(vocabulary), seed=run.options.seed)
        with threadpool_limits(1):  # one thread gives the same digits on every machine
            heads = [head for (head,) in explain(design, both[0].attention.shape[1], (WEIGHT,))[WEIGHT]]
        (layers, width), (_, other_width) = (
            rows[kind][0].attention.shape[1:3] for kind in (result.kind, SECOND + result.other_kind)
        )
        first = [layer * width + head for layer, head in result.first.tolist()]
        second = [layers * width + layer * other_width + head for layer, head in result.second.tolist()]
        # The last digits of a fit depend on the head's place among the others.
        second = [here if _are_equal(both, here, there) else there for here, there in zip(first, second, strict=True)]
        pairs.append(ExplainedPairs(result, [heads[at] for at in first], [heads[at] for at in second]))
    return pairs


def _are_equal(rows: Sequence[SampledRows], first: int, second: int) -> bool:
    return all(np.array_equal(each.attention[0, first], each.attention[0, second], equal_nan=True) for each in rows)


def joined_rows(first: Sequence[SampledRows], second: Sequence[SampledRows]) -> list[SampledRows]:
    """Return the rows that both samples have, with all heads of both models as layers of one head each.

    Of models of different size, one sample has fewer rows.
    """
    others = {(each.document, each.index): each for each in second}
    joined = []
    for each in first:
        if (other := others.get((each.document, each.index))) is None:
            continue
        rows, here, there = np.intersect1d(each.rows, other.rows, return_indices=True)
        if len(rows):
            sides = [
                side.attention[..., at, :].reshape(len(side.attention), -1, 1, len(rows), side.attention.shape[-1])
                for side, at in ((each, here), (other, there))
            ]
            joined.append(replace(each, rows=rows, attention=np.concatenate(sides, axis=1)))
    return joined


def group_table(explained: Sequence[ExplainedPairs]) -> pd.DataFrame:
    """Return what each group adds in both models as `compare_groups.parquet`, with q over heads and groups."""
    rows = [
        # Heads that attend the same have the same explanation; a group near a point may be chosen in one of them only.
        {**row, "stays": each.result.verdict[row["pair"]] == SAME or _does_as_well(each, row["pair"], row["name"])}
        for each in explained
        for row in paired_differences(each.result, each.groups())
        if row["first"] != 0 or row["second"] != 0
    ]
    if not rows:
        return COMPARE_GROUPS.frame([])
    table = pd.DataFrame(rows).rename(columns={"name": "group"})
    table["q_value"] = false_discovery(table.pop("p").to_numpy())
    found = (table["q_value"] < SIGNIFICANT) & (table["difference"].abs() >= LEAST_GAIN) & ~table.pop("stays")
    verdict = pd.Series(None, table.index, dtype=object)
    verdict[found & (table["difference"] > 0) & (table["first"] < LEAST_GAIN)] = GAINED
    verdict[found & (table["difference"] < 0) & (table["second"] < LEAST_GAIN)] = LOST
    return COMPARE_GROUPS.frame(records(table.assign(verdict=verdict)))


def _does_as_well(explained: ExplainedPairs, pair: int, name: str) -> bool:
    """Return True if a group and another in the explanation of either head of a pair can stand for each other."""
    steps = [step for heads in (explained.first, explained.second) for of_half in heads[pair].steps for step in of_half]
    alternatives = {other for step in steps if step.group == name for other in step.alternatives}
    return bool(alternatives & {step.group for step in steps}) or any(name in step.alternatives for step in steps)


Values = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Sums of the heads of a kind, `[group, layer, head, column]`, and the numbers by which they are divided."""
Measures = Mapping[str, Mapping[tuple[str, ...], Values]]
"""Values by kind of attention, and by the names of their columns of `study.heads`."""


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


def measures_by_kind(sums: Sequence[Accumulator]) -> Measures:
    """Return the measures of all heads, by kind of attention, from filled accumulators."""
    by_kind: dict[str, dict[tuple[str, ...], Values]] = defaultdict(dict)
    for each in sums:
        if isinstance(each, StatsAccumulator | BehaviorAccumulator):
            of_stats = isinstance(each, StatsAccumulator)
            analysis, names = ("stats", tuple(STATISTICS)) if of_stats else ("behaviors", NATURAL)
            at = [(tuple(STATISTICS) if of_stats else NAMES).index(name) for name in names]
            for means in each.compute():
                columns = tuple(f"{analysis}.{name}{'.norm' if means.measure == NORM else ''}" for name in names)
                counts = np.broadcast_to(means.counts.astype(np.float64), means.sums.shape)
                by_kind[means.kind][columns] = means.sums[..., at], counts[..., at]
        elif isinstance(each, NormAccumulator) and (stacked := each.sums.stacked()):
            for part in each.layout:
                by_kind[part.kind][_NORM_COLUMNS] = _norms(stacked, part.kind)
    return by_kind


_NORM_COLUMNS = tuple(
    f"norms.{name}" for name in (OUTPUT, IN_LAYER, IN_STREAM, *(f"{VALUE}.{each}" for each in KEY_CLASSES))
)


def _norms(stacked: Mapping[str, NDArray[np.float64]], kind: str) -> Values:
    """Return sums and counts of `_NORM_COLUMNS`."""
    output, stream, value = (stacked[f"{name}.{kind}"] for name in ("output", "in_stream", "value"))
    n_output, n_stream, n_value = (stacked[f"n_{name}.{kind}"][:, :, None] for name in ("output", "in_stream", "value"))
    counts = [np.broadcast_to(each, output.shape) for each in (n_output, output.mean(2, keepdims=True), n_stream)]
    return (
        np.concatenate([np.stack([output, output, stream], axis=-1), value], axis=-1),
        np.concatenate([np.stack(counts, axis=-1), np.broadcast_to(n_value, value.shape)], axis=-1),
    )


def measure_table(
    measures: Measures, results: Sequence[HeadChanges], explained: Sequence[ExplainedPairs]
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


def _paired(measures: Measures, result: HeadChanges) -> Iterator[PairedValues]:
    others = measures[SECOND + result.other_kind]
    for columns, values in measures[result.kind].items():
        if columns in others:
            yield PairedValues(columns, _of_heads(values, result.first), _of_heads(others[columns], result.second))


def _of_heads(values: Values, heads: NDArray[np.int64]) -> Values:
    """Return sums and counts of some heads, `[group, head, column]`, given by 0-based layer and head."""
    sums, counts = values
    layers, numbers = heads.T
    return sums[:, layers, numbers], counts[:, layers, numbers]
