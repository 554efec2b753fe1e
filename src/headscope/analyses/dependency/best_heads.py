"""The tables of section 4.2, made of what `DependencyAccumulator` counted."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.dependency.accumulator import DependencyAccumulator, DependencySums
from headscope.analyses.dependency.arcs import OFFSETS, ArcTable
from headscope.analyses.dependency.tables import (
    DEPENDENCY,
    DEPENDENCY_BASELINES,
    DEPENDENCY_BEST,
    DEPENDENCY_DIFFERENCES,
)
from headscope.statistics.arc_bins import DISTANCES, FEWEST_ARCS
from headscope.statistics.confidence import Interval, ratio_interval
from headscope.statistics.selection import Chosen, held_out, margin, same_data, selection_margin
from headscope.statistics.significance import against_every, false_discovery, selection_p

TOTALS = ("all", "all_but_punct_root")


@dataclass(frozen=True)
class Candidate:
    """A head read in one direction."""

    kind: str
    layer: int
    head: int
    direction: str


class DependencyResult:
    """The counts of one model laid out for tables: relations with at least 100 arcs, and the two totals of any size.

    Args:
        accumulator: after the scan.
        model: `trained`, `control` (random weights) or `shuffled`.
        control_seed: which control it is; None for the trained model.
        seed: of splits and orders of the documents.

    Raises:
        ValueError: no arc was counted.

    Attributes:
        relations: rows of the tables, the totals first.
        candidates: every head in every direction, in the order of the arrays.
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
    ) -> None:
        self.model, self.control_seed, self.seed = model, control_seed, seed
        self.table: ArcTable = accumulator.table
        self.options = accumulator.options
        self.sums: tuple[DependencySums, ...] = accumulator.compute()
        rows = self.table.aggregates
        first = self.sums[0]
        cells = _by_relation(first.counts, self.table)
        self.rows = {
            name: own
            for name, own in rows.items()
            if cells[:, own].sum() >= (1 if name in TOTALS else FEWEST_ARCS)
            and name.partition(":")[0] != "root"
        }
        if not self.rows:
            raise ValueError(
                "expected counts of at least one arc, came none; scan sentences with trees first"
            )
        self.relations = tuple(self.rows)
        self.candidates = [
            Candidate(part.kind, layer + 1, head + 1, direction)
            for part in self.sums
            for layer in range(part.hits.shape[2])
            for head in range(part.hits.shape[3])
            for direction in self.options.directions
        ]
        hits = np.concatenate([self._flat(part.hits) for part in self.sums], axis=2)
        self.hits = self._sum(hits).transpose(0, 2, 1)
        self.counts = self._sum(cells)
        self.offsets = self._sum(_by_relation(first.offsets, self.table)).transpose(0, 2, 1)

    def heads(self) -> pd.DataFrame:
        """Return `dependency.parquet`: every head, direction and relation."""
        interval = ratio_interval(self.hits, self.counts[:, None], scale="share")
        reachable = np.concatenate([self._reachable(part) for part in self.sums])
        q = self.q_values
        frames = []
        for column, relation in enumerate(self.relations):
            frame = pd.DataFrame([vars(candidate) for candidate in self.candidates])
            frame["relation"] = relation
            frame["n"] = int(self.counts[:, column].sum())
            frame["reachable"] = reachable[:, column]
            frame["accuracy"] = interval.value[:, column]
            frame["ci_low"], frame["ci_high"] = interval.low[:, column], interval.high[:, column]
            frame["q_value"] = q[:, column]
            frames.append(frame)
        return self._named(pd.concat(frames, ignore_index=True))[DEPENDENCY.names]

    @cached_property
    def q_values(self) -> NDArray[np.float64]:
        """q of every head against every fixed offset, `[candidate, relation]`; controls have none.

        The totals are not relations and stand outside the family of tests.
        """
        q = np.full(self.hits.shape[1:], np.nan)
        own = self._tested()
        if own:
            q[:, own] = false_discovery(
                against_every(self.hits[:, :, own], self.offsets[:, :, own], self.counts[:, own])
            )
        return q

    @cached_property
    def selection_q(self) -> NDArray[np.float64]:
        """q of choosing each relation's best head, against every fixed offset, `[relation]`; controls have none."""
        q = np.full(len(self.relations), np.nan)
        own = self._tested()
        if own:
            tables = self.hits[:, :, own], self.offsets[:, :, own], self.counts[:, own]
            q[own] = false_discovery(selection_p(*tables, seed=self.seed))
        return q

    @cached_property
    def chosen(self) -> dict[str, Chosen]:
        """The best head of each relation, by how it was selected; compat knows the paper's way only."""
        order = self._order()
        hits = self.hits[:, order]
        found = {"same-data": same_data(hits, self.counts)}
        if not self.options.compat:
            found = {"held-out": held_out(hits, self.counts, seed=self.seed), **found}
        return {
            name: replace(one, candidate=np.where(one.candidate < 0, -1, order[one.candidate]))
            for name, one in found.items()
        }

    def best(self) -> pd.DataFrame:
        """Return `dependency_best.parquet`: the best head of each relation, held-out and on the same data.

        `accuracy` is that of the head that is named, and of the offset that is named, on all documents; `margin` their
        paired difference. `held_out` is the accuracy of the selection on documents that did not choose, and `q_value`
        of the held-out rows is its test, of the others that of the head among all heads. Nothing is held out where
        all arcs of a relation are of one document: it has no such row.
        """
        keep = [i for i, name in enumerate(self.relations) if name.partition(":")[0] != "punct"]
        rows = []
        for selection, heads in self.chosen.items():
            offsets = self._best_offsets(selection)
            gap = margin(self.hits, heads.candidate, self.offsets, offsets.candidate, self.counts)
            for column in keep:
                place = int(heads.candidate[column])
                if place < 0:
                    continue
                q = self.selection_q[column] if selection == "held-out" else self.q_values[place, column]
                rows.append(
                    {
                        "selection": selection,
                        "relation": self.relations[column],
                        "n": int(self.counts[:, column].sum()),
                        **vars(self.candidates[place]),
                        "share": heads.share[column],
                        **_ends(heads.own, column, "accuracy", ""),
                        **_ends(heads.held_out, column, "held_out", "held_out_"),
                        "baseline_offset": OFFSETS[int(offsets.candidate[column])],
                        **_ends(offsets.own, column, "baseline_accuracy", "baseline_"),
                        **_ends(gap, column, "margin", "margin_"),
                        "q_value": q,
                    }
                )
        table = pd.DataFrame(
            rows, columns=[name for name in DEPENDENCY_BEST.names if name not in ("model", "seed")]
        )
        return self._named(table)[DEPENDENCY_BEST.names]

    def against(self, other: "DependencyResult") -> pd.DataFrame:
        """Return rows of `dependency_differences.parquet`: this model's selection less another's, on the same arcs.

        Both choose on one half of the documents and are scored on the other, in the same splits.

        Args:
            other: counts of a control over the same treebank.
        """
        if self.options.compat or len(other.counts) != len(self.counts):
            return pd.DataFrame(columns=DEPENDENCY_DIFFERENCES.names)
        ours, theirs = self.chosen["held-out"], other.chosen["held-out"]
        gap = selection_margin(ours, theirs, self.counts)
        rows = [
            {
                "relation": relation,
                "than": other.model,
                "seed": other.control_seed,
                "n": int(self.counts[:, column].sum()),
                **_ends(gap, column, "difference", ""),
            }
            for column, relation in enumerate(self.relations)
            if ours.candidate[column] >= 0 and relation.partition(":")[0] != "punct"
        ]
        return pd.DataFrame(rows, columns=DEPENDENCY_DIFFERENCES.names).astype({"seed": "Int64"})

    def baselines(self) -> pd.DataFrame:
        """Return `dependency_baselines.parquet`: every fixed offset, and right- and left-branching.

        Right-branching says that the head is the next word, as the paper has it, left-branching the one before.
        """
        interval = ratio_interval(self.offsets, self.counts[:, None], scale="share")
        named = [("offset", offset) for offset in OFFSETS]
        named += [("right-branching", 1), ("left-branching", -1)]
        rows = [
            {
                "baseline": baseline,
                "offset": offset,
                "relation": relation,
                "n": int(self.counts[:, column].sum()),
                "accuracy": interval.value[OFFSETS.index(offset), column],
                "ci_low": interval.low[OFFSETS.index(offset), column],
                "ci_high": interval.high[OFFSETS.index(offset), column],
            }
            for baseline, offset in named
            for column, relation in enumerate(self.relations)
        ]
        return pd.DataFrame(rows, columns=DEPENDENCY_BASELINES.names)

    def special_changes(self) -> dict[str, Any]:
        """Say how many accuracies change when special tokens are treated the other way, and by how much at most."""
        other = np.concatenate([self._flat(part.other[None]) for part in self.sums], axis=2)[0]
        changed = np.stack([other[rows].sum(0) for rows in self.rows.values()], axis=1)
        before, number = self.hits.sum(0), self.counts.sum(0)
        difference = np.abs(changed - before) / np.maximum(number, 1)
        return {
            "accuracies": int((difference > 0).sum()),
            "of": int(difference.size),
            "largest": float(difference.max(initial=0.0)),
        }

    def place(self, row: Any) -> int:
        """Index of the candidate that a row of a table names."""
        wanted = Candidate(row["kind"], int(row["layer"]), int(row["head"]), row["direction"])
        return self.candidates.index(wanted)

    def _tested(self) -> list[int]:
        """The relations that are tested: not the totals, and none of a control's."""
        if self.model != "trained":
            return []
        return [i for i, name in enumerate(self.relations) if name not in TOTALS]

    def _best_offsets(self, selection: str) -> Chosen:
        """The offset chosen as the head was; on a tie the notebook takes the last."""
        order = np.arange(len(OFFSETS))[:: -1 if self.options.compat else 1]
        hits = self._allowed_offsets()[:, order]
        found = (
            held_out(hits, self.counts, seed=self.seed)
            if selection == "held-out"
            else same_data(hits, self.counts)
        )
        return replace(found, candidate=np.where(found.candidate < 0, -1, order[found.candidate]))

    def _allowed_offsets(self) -> NDArray[Any]:
        """The notebook looks at offsets from -3 to 2 only; others never win there."""
        if not self.options.compat:
            return self.offsets
        outside = np.array([not -3 <= offset <= 2 for offset in OFFSETS])
        return np.where(outside[None, :, None], -1, self.offsets)

    def _order(self) -> NDArray[np.int64]:
        """Candidates in the order in which the first wins a tie; in the notebook the last layer and head do."""
        every = np.arange(len(self.candidates))
        if not self.options.compat:
            return every
        last = [(own.layer, own.head, own.direction == "head->dependent") for own in self.candidates]
        return np.array(sorted(every.tolist(), key=last.__getitem__, reverse=True))

    def _flat(self, table: NDArray[Any]) -> NDArray[Any]:
        """`[group, cell or relation, layer, head, direction]` to `[group, relation, candidate]`."""
        flat = table.reshape(*table.shape[:2], -1)
        return _by_relation(flat, self.table) if table.shape[1] == self.table.cells else flat

    def _sum(self, table: NDArray[Any]) -> NDArray[Any]:
        """Sum `[group, relation, ...]` to the rows of the tables, `[group, row, ...]`."""
        parts = [table[:, own].sum(1) for own in self.rows.values()]
        return np.stack(parts, axis=1) if parts else np.zeros((len(table), 0, *table.shape[2:]))

    def _reachable(self, part: DependencySums) -> NDArray[np.float64]:
        """Share of arcs that the mask allows, `[candidate of this kind, relation]`."""
        heads = part.hits.shape[3]
        number = self.counts.sum(0)
        rows = np.stack([part.reachable[own].sum(0) for own in self.rows.values()], axis=-1)
        return np.repeat((rows / number)[:, None], heads, axis=1).reshape(-1, len(self.rows))

    def _named(self, table: pd.DataFrame) -> pd.DataFrame:
        table.insert(0, "model", self.model)
        table.insert(1, "seed", pd.Series([self.control_seed] * len(table), dtype="Int64"))
        return table


def _ends(interval: Interval, place: int, name: str, prefix: str) -> dict[str, float]:
    return {
        name: float(interval.value[place]),
        f"{prefix}ci_low": float(interval.low[place]),
        f"{prefix}ci_high": float(interval.high[place]),
    }


def _by_relation(cells: NDArray[Any], table: ArcTable) -> NDArray[Any]:
    """Sum distances away: `[group, cell, ...]` to `[group, relation, ...]`."""
    shape = (len(cells), len(table.relations), len(DISTANCES), *cells.shape[2:])
    total: NDArray[Any] = cells.reshape(shape).sum(2, dtype=np.int64)
    return total
