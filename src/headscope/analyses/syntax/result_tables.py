"""The tables of section 4.2 from the counts: best heads, accuracy by distance, attention to special tokens."""

from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.attending import split_attending
from headscope.analyses.syntax.gold_arcs import NOOP_CLASSES, OFFSETS
from headscope.analyses.syntax.relation_counts import RelationCounts, choose_heads, choose_offsets
from headscope.analyses.syntax.tables import (
    SYNTAX,
    SYNTAX_BASELINES,
    SYNTAX_BEST,
    SYNTAX_BY_DISTANCE,
    SYNTAX_DIFFERENCES,
    SYNTAX_NOOP,
)
from headscope.present.cells import records
from headscope.scans.examples.arc_examples import first_selection
from headscope.statistics.inference.confidence import difference_interval, ends_of, ratio_interval
from headscope.statistics.inference.selection import Chosen, beside_rival, selection_margin
from headscope.statistics.inference.significance import against_every, false_discovery, selection_p
from headscope.statistics.tables.frames import DISTANCES, TOTALS


class DependencyResult:
    """The counts of one model, prepared for tables.

    Args:
        accumulator: the accumulator after the scan.
        model: `trained`, `control` (random weights) or `shuffled`.
        control_seed: index of the control; None for the trained model.
        seed: seed of the splits and orders of the documents.
        relations: rows of the tables; for a control, those of the trained model, because it reads fewer arcs; None for
            the relations with at least 100 arcs.

    Raises:
        ValueError: no arc was counted.

    Attributes:
        counted: the counts.
        relations, candidates, hits, counts, offsets: attributes of `counted`.
    """

    def __init__(
        self,
        accumulator: DependencyAccumulator,
        *,
        model: str = "trained",
        control_seed: int | None = None,
        seed: int = 0,
        relations: Collection[str] | None = None,
    ) -> None:
        self.model, self.control_seed, self.seed = model, control_seed, seed
        self._model: dict[str, Any] = {"model": model, "seed": control_seed}
        self.counted = RelationCounts(accumulator, relations=relations)
        self.relations, self.candidates = self.counted.relations, self.counted.candidates
        self.hits, self.counts, self.offsets = self.counted.hits, self.counted.counts, self.counted.offsets

    def heads(self) -> pd.DataFrame:
        """Return `syntax.parquet`: the accuracy of every head in every direction for every relation."""
        interval = ratio_interval(self.hits, self.counts[:, None], scale="share")
        reachable = self.counted.reachable()
        number = self.counts.sum(0)
        return SYNTAX.frame(
            {
                **self._model,
                **vars(candidate),
                "relation": relation,
                "n_arcs": int(number[column]),
                "reachable": reachable[index, column],
                **ends_of(interval, (index, column), "accuracy"),
                "q_value": self.q_values[index, column],
            }
            for column, relation in enumerate(self.relations)
            for index, candidate in enumerate(self.candidates)
        )

    @cached_property
    def q_values(self) -> NDArray[np.float64]:
        """Return q of every head against every fixed offset, `[candidate, relation]`."""
        return self._q(against_every, self.hits.shape[1:])

    def _q(self, test: Callable[..., NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return q of a test of hits, offsets and counts, `[..., relation]`; NaN for controls.

        The totals are not relations and are excluded from the family of tests.
        """
        q = np.full(shape, np.nan)
        tested = [i for i, name in enumerate(self.relations) if name not in TOTALS and self.model == "trained"]
        if tested:
            tables = (self.hits[:, :, tested], self.offsets[:, :, tested], self.counts[:, tested])
            q[..., tested] = false_discovery(test(*tables))
        return q

    @cached_property
    def chosen(self) -> dict[str, Chosen]:
        """The best head of each relation, by kind of selection; compat has the paper's selection only."""
        return choose_heads(self.counted, seed=self.seed)

    def best(self) -> pd.DataFrame:
        """Return `syntax_best.parquet`: the best head of each relation, held-out and on the same data.

        `accuracy` is the accuracy of the named head, `baseline_accuracy` that of the named offset, on the documents
        that selected neither (`derived.cross_fitted`), `margin` their paired difference; for selection on
        the same data, all three are over all documents. `held_out` is the accuracy of the selection. `q_value` of the
        held-out rows tests the selection; `q_value` of the other rows tests the head among all heads. A relation whose
        arcs are all in one document has no held-out row.
        """
        keep = [i for i, name in enumerate(self.relations) if name.partition(":")[0] != "punct"]
        rows = []
        for selection, heads in self.chosen.items():
            is_held_out = selection == "held-out"
            choice_q = self._q(partial(selection_p, seed=self.seed), self.hits.shape[2:]) if is_held_out else None
            offsets = choose_offsets(self.counted, selection, seed=self.seed)
            contest = beside_rival(self.hits, heads, self.offsets, offsets, self.counts)
            for column in keep:
                index = int(heads.candidate[column])
                if index < 0:
                    continue
                q = self.q_values[index, column] if choice_q is None else choice_q[column]
                rows.append(
                    {
                        **self._model,
                        "selection": selection,
                        "relation": self.relations[column],
                        "n_arcs": int(self.counts[:, column].sum()),
                        **vars(self.candidates[index]),
                        **heads.columns(column),
                        **ends_of(contest.value, column, "accuracy"),
                        "baseline_offset": OFFSETS[int(contest.rival[column])],
                        **ends_of(contest.baseline, column, "baseline_accuracy", "baseline_"),
                        **ends_of(contest.margin, column, "margin", "margin_"),
                        "q_value": q,
                    }
                )
        return SYNTAX_BEST.frame(rows)

    def against(self, other: "DependencyResult") -> pd.DataFrame:
        """Return rows of `syntax_differences.parquet`: this model's selection minus another's, on the same arcs.

        Both select on one half of the documents and are scored on the other, in the same splits.

        Args:
            other: counts of a control over the same documents.
        """
        if self.counted.options.compat or len(other.counts) != len(self.counts):
            return SYNTAX_DIFFERENCES.frame(())
        ours, theirs = self.chosen["held-out"], other.chosen["held-out"]
        gap = selection_margin(ours, theirs, self.counts)
        return SYNTAX_DIFFERENCES.frame(
            {
                "relation": relation,
                "than": other.model,
                "seed": other.control_seed,
                "n_arcs": int(self.counts[:, column].sum()),
                **ends_of(gap, column, "difference"),
            }
            for column, relation in enumerate(self.relations)
            if ours.candidate[column] >= 0 and relation.partition(":")[0] != "punct"
        )

    def baselines(self) -> pd.DataFrame:
        """Return `syntax_baselines.parquet`: every fixed offset, and right- and left-branching.

        Right-branching predicts the next word as the head, as in the paper; left-branching predicts the word before.
        """
        interval = ratio_interval(self.offsets, self.counts[:, None], scale="share")
        named = [*(("offset", offset) for offset in OFFSETS), ("right-branching", 1), ("left-branching", -1)]
        return SYNTAX_BASELINES.frame(
            {
                "baseline": baseline,
                "offset": offset,
                "relation": relation,
                "n_arcs": int(self.counts[:, column].sum()),
                **ends_of(interval, (OFFSETS.index(offset), column), "accuracy"),
            }
            for baseline, offset in named
            for column, relation in enumerate(self.relations)
        )


_MEASURED = ("accuracy", "ci_low", "ci_high")
_HEAD = ["kind", "layer", "head", "direction", "relation"]


def distance_table(result: DependencyResult, best: pd.DataFrame) -> pd.DataFrame:
    """Return `syntax_by_distance.parquet`: the accuracy of each best head, by distance to the head word.

    A root has no distance, so `all` excludes roots here.

    Args:
        result: the counts.
        best: `DependencyResult.best`; its first selection is used, held-out where there is one.
    """
    rows, hits, counts = [], [], []
    root = result.counted.table.relations.index("root")
    for row in records(first_selection(best)):
        kind_sums, head_index = _head_counts(result, row)
        for number, distance in enumerate(DISTANCES):
            relations = result.counted.rows[row["relation"]]
            cells = relations[relations != root] * len(DISTANCES) + number
            cases = kind_sums.counts[:, cells].sum(1)
            if not cases.sum():
                continue
            offset = int(row["baseline_offset"])
            fixed = kind_sums.offsets[:, cells, OFFSETS.index(offset)].sum()
            counts.append(cases)
            hits.append(kind_sums.hits[(slice(None), cells, *head_index)].sum(1))
            rows.append(
                {
                    "model": result.model,
                    **{name: row[name] for name in _HEAD},
                    "distance": distance,
                    "n_arcs": int(cases.sum()),
                    "baseline_offset": offset,
                    "baseline_accuracy": fixed / cases.sum(),
                }
            )
    table = pd.DataFrame(rows, columns=[c for c in SYNTAX_BY_DISTANCE.names if c not in _MEASURED])
    if rows:
        interval = ratio_interval(np.stack(hits, axis=1), np.stack(counts, axis=1), scale="share")
        table = table.assign(accuracy=interval.value, ci_low=interval.low, ci_high=interval.high)
    return table.reindex(columns=SYNTAX_BY_DISTANCE.names)


def noop_table(result: DependencyResult, best: pd.DataFrame) -> pd.DataFrame:
    """Return `syntax_noop.parquet`: attention to sep and cls from the words that attend in a relation, and others.

    If attention to sep is a no-op, it should be lower from the words that attend in a head's relation than from all
    other words (section 3.2). Those are the relation's dependents where the dependent attends to its head word, and
    the head words where they attend to their dependents. `n_words` and `n_other_words` count every word once. The
    first and the last word of an input are excluded, because a head that attends backward, or forward, finds only the
    adjacent special token there.
    """
    rows, sides = [], []
    for row in records(first_selection(best)):
        if row["relation"] in TOTALS:
            continue
        kind_sums, (layer, head, direction) = _head_counts(result, row)
        (relation,) = result.counted.rows[row["relation"]].tolist()  # labels are folded before they are counted
        counts = split_attending(kind_sums.attending, relation, direction)
        for class_index, key_class in enumerate(NOOP_CLASSES):
            attention = kind_sums.noop[:, :, :, layer, head, class_index]
            if not attention.sum():
                continue  # the tokenizer has no such token
            inside, outside = split_attending(attention, relation, direction)
            sides.append((inside, counts[0], outside, counts[1]))
            rows.append(
                {
                    **{name: row[name] for name in _HEAD},
                    "key_class": key_class,
                    "n_words": int(counts[0].sum()),
                    "n_other_words": int(counts[1].sum()),
                    "attending": _mean(inside, counts[0]),
                    "others": _mean(outside, counts[1]),
                }
            )
    table = pd.DataFrame(rows, columns=SYNTAX_NOOP.names[:-3])
    if rows:
        stacked = [np.stack(side, axis=1) for side in zip(*sides, strict=True)]
        difference = difference_interval(*stacked)
        table = table.assign(difference=difference.value, ci_low=difference.low, ci_high=difference.high)
    return table.reindex(columns=SYNTAX_NOOP.names)


def _mean(sums: NDArray[Any], counts: NDArray[Any]) -> float:
    """Return the mean over all groups; NaN where nothing was counted."""
    number = counts.sum()
    return float(sums.sum() / number) if number else float("nan")


def _head_counts(result: DependencyResult, row: dict[str, Any]) -> tuple[Any, tuple[int, int, int]]:
    """Return the counts of a row's kind of attention, and the indices `[layer, head, direction]` of the row's head."""
    kind_sums = next(sums for sums in result.counted.sums if sums.kind == row["kind"])
    direction = result.counted.options.directions.index(row["direction"])
    return kind_sums, (int(row["layer"]) - 1, int(row["head"]) - 1, direction)
