"""The counts of `DependencyAccumulator` by relation, and the tables of section 4.2: every head, the best, baselines."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import OFFSETS
from headscope.analyses.syntax.tables import SYNTAX, SYNTAX_BASELINES, SYNTAX_BEST, SYNTAX_DIFFERENCES
from headscope.statistics.inference.confidence import ends_of, ratio_interval
from headscope.statistics.inference.selection import (
    Chosen,
    beside_rival,
    both_ways,
    held_out,
    same_data,
    selection_margin,
)
from headscope.statistics.inference.significance import against_every, false_discovery, selection_p
from headscope.statistics.tables.frames import DISTANCES, FEWEST_ARCS, TOTALS


class DependencyResult:
    """The counts of one model: relations with at least 100 arcs, and the two totals of any size.

    Args:
        accumulator: the accumulator after a scan of at least one arc.
        model: `trained`, `control` (random weights) or `shuffled`.
        control_seed: index of the control; None for the trained model.
        seed: seed of the splits and orders of the documents.
        relations: names of the rows; for a control, those of the trained model, because it reads fewer arcs, without
            those that have none; None for the relations with at least 100 arcs.

    Attributes:
        table, options, sums: the relations, options and counts of the accumulator.
        rows: the accumulator's relations that make up each row, by name.
        relations: rows of the tables, the totals first.
        candidates: kind, layer, head and direction of every candidate, in the order of the arrays.
        hits: `[group, candidate, relation]`.
        counts: `[group, relation]`.
        offsets: hits of the fixed offsets, `[group, OFFSETS, relation]`.
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
        self.table, self.options, self.sums = accumulator.table, accumulator.options, accumulator.compute()
        arcs = self._by_relation(self.sums[0].counts)
        self.rows = {
            name: indices
            for name, indices in self.table.aggregates.items()
            if arcs[:, indices].sum() >= (1 if name in TOTALS or relations is not None else FEWEST_ARCS)
            and (relations is None or name in relations)
            and name.partition(":")[0] != "root"
        }
        self.relations = tuple(self.rows)
        self.candidates = [
            {"kind": part.kind, "layer": layer + 1, "head": head + 1, "direction": self.options.directions[direction]}
            for part in self.sums
            for layer, head, direction in np.ndindex(part.hits.shape[2:])
        ]
        hits = np.concatenate([self._by_relation(part.hits) for part in self.sums], axis=2)
        self.hits = self._by_row(hits).transpose(0, 2, 1)
        self.counts = self._by_row(arcs)[..., 0]
        self.offsets = self._by_row(self._by_relation(self.sums[0].offsets)).transpose(0, 2, 1)

    def _by_relation(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Sum over distances: `[group, cell, ...]` to `[group, relation, candidate]`."""
        by_distance = cells.reshape(len(cells), len(self.table.relations), len(DISTANCES), -1)
        total: NDArray[Any] = by_distance.sum(2, dtype=np.int64)
        return total

    def _by_row(self, relations: NDArray[Any]) -> NDArray[Any]:
        """Sum `[group, relation, ...]` into the rows of the tables, `[group, row, ...]`."""
        return np.stack([relations[:, indices].sum(1) for indices in self.rows.values()], axis=1)

    def _of_corpus(self, totals: list[NDArray[Any]]) -> NDArray[Any]:
        """Sum totals of each kind, `[relation, layer, head, direction]`, to `[candidate, row]`."""
        whole = np.concatenate([total.reshape(len(total), -1) for total in totals], axis=1)
        return np.asarray(self._by_row(whole[None])[0].T)

    def special_changes(self) -> dict[str, Any]:
        """Count the accuracies that change when special tokens are treated the other way, with the largest change."""
        changed = self._of_corpus([part.other for part in self.sums])
        difference = np.abs(changed - self.hits.sum(0)) / np.maximum(self.counts.sum(0), 1)
        return {
            "accuracies": int((difference > 0).sum()),
            "of": int(difference.size),
            "largest": float(difference.max(initial=0.0)),
        }

    def heads(self) -> pd.DataFrame:
        """Return `syntax.parquet`: the accuracy of every head in every direction for every relation."""
        interval = ratio_interval(self.hits, self.counts[:, None], scale="share")
        visible = [np.repeat(part.reachable[:, :, None], part.hits.shape[3], axis=2) for part in self.sums]
        number = self.counts.sum(0)
        reachable = self._of_corpus(visible) / number
        return SYNTAX.frame(
            {
                **{"model": self.model, "seed": self.control_seed, **candidate},
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
        if not self.options.compat:
            return both_ways(self.hits, self.counts, seed=self.seed)
        # In the notebook the last layer and head win a tie, and `head->dependent`.
        places = [(each["layer"], each["head"], each["direction"]) for each in self.candidates]
        order = np.array(sorted(range(len(places)), key=places.__getitem__, reverse=True))
        return {"same-data": _reordered(same_data(self.hits[:, order], self.counts), order)}

    def _chosen_offsets(self, selection: str) -> Chosen:
        """Return the best offset by the same selection as the head."""
        if selection == "held-out":
            return held_out(self.offsets, self.counts, seed=self.seed)
        if not self.options.compat:
            return same_data(self.offsets, self.counts)
        # The notebook tries offsets from -3 to 2 only, and the last wins a tie.
        outside = np.array([not -3 <= offset <= 2 for offset in OFFSETS])
        order = np.arange(len(OFFSETS))[::-1]
        hits = np.where(outside[None, :, None], -1, self.offsets)
        return _reordered(same_data(hits[:, order], self.counts), order)

    def _columns(self, chosen: Chosen) -> list[int]:
        """Return the relations for which a head was chosen; punctuation is not listed."""
        return [
            column
            for column, relation in enumerate(self.relations)
            if chosen.candidate[column] >= 0 and relation.partition(":")[0] != "punct"
        ]

    def best(self) -> pd.DataFrame:
        """Return `syntax_best.parquet`: the best head of each relation, held-out and on the same data.

        `accuracy` is the accuracy of the named head, `baseline_accuracy` that of the named offset, on the documents
        that selected neither (`derived.cross_fitted`), `margin` their paired difference; for selection on
        the same data, all three are over all documents. `held_out` is the accuracy of the selection. `q_value` of the
        held-out rows tests the selection; `q_value` of the other rows tests the head among all heads. A relation whose
        arcs are all in one document has no held-out row.
        """
        rows = []
        for selection, heads in self.chosen.items():
            is_held_out = selection == "held-out"
            choice_q = self._q(partial(selection_p, seed=self.seed), self.hits.shape[2:]) if is_held_out else None
            offsets = self._chosen_offsets(selection)
            contest = beside_rival(self.hits, heads, self.offsets, offsets, self.counts)
            for column in self._columns(heads):
                index = int(heads.candidate[column])
                rows.append(
                    {
                        **{"model": self.model, "seed": self.control_seed, "selection": selection},
                        "relation": self.relations[column],
                        "n_arcs": int(self.counts[:, column].sum()),
                        **self.candidates[index],
                        **heads.columns(column),
                        **ends_of(contest.value, column, "accuracy"),
                        "baseline_offset": OFFSETS[int(contest.rival[column])],
                        **ends_of(contest.baseline, column, "baseline_accuracy", "baseline_"),
                        **ends_of(contest.margin, column, "margin", "margin_"),
                        "q_value": self.q_values[index, column] if choice_q is None else choice_q[column],
                    }
                )
        return SYNTAX_BEST.frame(rows)

    def against(self, other: "DependencyResult") -> pd.DataFrame:
        """Return rows of `syntax_differences.parquet`: this model's selection minus another's, on the same arcs.

        Both select on one half of the documents and are scored on the other, in the same splits.

        Args:
            other: counts of a control over the same documents.
        """
        if self.options.compat or len(other.counts) != len(self.counts):
            return SYNTAX_DIFFERENCES.frame(())
        ours, theirs = self.chosen["held-out"], other.chosen["held-out"]
        gap = selection_margin(ours, theirs, self.counts)
        return SYNTAX_DIFFERENCES.frame(
            {
                "relation": self.relations[column],
                "than": other.model,
                "seed": other.control_seed,
                "n_arcs": int(self.counts[:, column].sum()),
                **ends_of(gap, column, "difference"),
            }
            for column in self._columns(ours)
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


def _reordered(chosen: Chosen, order: NDArray[np.int64]) -> Chosen:
    """Map candidate indices back from the order in which the first wins a tie to the original order."""
    candidate, picked = (np.where(indices < 0, -1, order[indices]) for indices in (chosen.candidate, chosen.picked))
    return replace(chosen, candidate=candidate, picked=picked)
