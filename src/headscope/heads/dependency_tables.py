"""The tables of section 4.2, made of what `DependencyAccumulator` counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.heads.arcs import DISTANCES, FEWEST_ARCS, OFFSETS, ArcTable
from headscope.heads.dependency import DependencyAccumulator, DependencySums
from headscope.statistics.confidence import Interval, bootstrap_ratio
from headscope.statistics.selection import Chosen, crossed, held_out, same_data
from headscope.statistics.significance import clustered_p, false_discovery

TOTALS = ("all", "all_but_punct_root")
COLUMNS = [
    *("model", "seed", "kind", "layer", "head", "direction", "relation"),
    *("n", "reachable", "accuracy", "ci_low", "ci_high", "q_value"),
]
BEST_COLUMNS = [
    *("model", "seed", "selection", "relation", "n", "kind", "layer", "head", "share", "direction"),
    *("accuracy", "ci_low", "ci_high", "baseline_offset", "baseline_accuracy"),
    *("baseline_ci_low", "baseline_ci_high", "q_value"),
]


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
        seed: of intervals and splits.

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
        interval = bootstrap_ratio(self.hits, self.counts[:, None], seed=self.seed)
        reachable = np.concatenate([self._reachable(part) for part in self.sums])
        q = self.q_values()
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
        return self._named(pd.concat(frames, ignore_index=True))[COLUMNS]

    def q_values(self) -> NDArray[np.float64]:
        """Test every head against the cross-fitted best offset, `[candidate, relation]`; controls have none.

        The totals are not relations and stand outside the family of tests.
        """
        q = np.full(self.hits.shape[1:], np.nan)
        own = [i for i, name in enumerate(self.relations) if name not in TOTALS]
        if self.model == "trained" and own:
            counts = self.counts[:, own]
            baseline = crossed(self.offsets[:, :, own], counts, seed=self.seed)
            difference = self.hits[:, :, own] - baseline[:, None]
            q[:, own] = false_discovery(clustered_p(difference, counts[:, None]))
        return q

    def best(self) -> pd.DataFrame:
        """Return `dependency_best.parquet`: the best head of each relation, held-out and on the same data.

        Nothing is held-out where all arcs of a relation are of one document: it has no such row.
        """
        keep = [i for i, name in enumerate(self.relations) if name.partition(":")[0] != "punct"]
        q = self.q_values()
        rows = []
        for selection, choose in (("held-out", held_out), ("same-data", same_data)):
            if self.options.compat and selection == "held-out":
                continue
            counts = self.counts[:, keep]
            order = self._order()
            heads = choose(self.hits[:, order][:, :, keep], counts, seed=self.seed)
            heads = replace(heads, candidate=np.where(heads.candidate < 0, -1, order[heads.candidate]))
            order = np.arange(len(OFFSETS))[:: -1 if self.options.compat else 1]
            offsets = choose(self._allowed_offsets()[:, order][:, :, keep], counts, seed=self.seed)
            offsets = replace(
                offsets, candidate=np.where(offsets.candidate < 0, -1, order[offsets.candidate])
            )
            rows += list(self._best_rows(selection, heads, offsets, keep, q))
        table = pd.DataFrame(rows, columns=[name for name in BEST_COLUMNS if name not in ("model", "seed")])
        return self._named(table)[BEST_COLUMNS]

    def baselines(self) -> pd.DataFrame:
        """Return `dependency_baselines.parquet`: every fixed offset, and right- and left-branching.

        Right-branching says that the head is the next word, as the paper has it, left-branching the one before.
        """
        interval = bootstrap_ratio(self.offsets, self.counts[:, None], seed=self.seed)
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
        names = ["baseline", "offset", "relation", "n", "accuracy", "ci_low", "ci_high"]
        return pd.DataFrame(rows, columns=names)

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

    def _best_rows(
        self, selection: str, heads: Chosen, offsets: Chosen, keep: Sequence[int], q: NDArray[np.float64]
    ) -> Iterator[dict[str, Any]]:
        for place, column in enumerate(keep):
            if heads.candidate[place] < 0:
                continue
            candidate = self.candidates[int(heads.candidate[place])]
            offset = int(offsets.candidate[place])
            yield {
                "selection": selection,
                "relation": self.relations[column],
                "n": int(self.counts[:, column].sum()),
                **vars(candidate),
                "share": heads.share[place],
                **_ends(heads.accuracy, place, ""),
                "baseline_offset": OFFSETS[offset],
                **_ends(offsets.accuracy, place, "baseline_"),
                "q_value": q[int(heads.candidate[place]), column],
            }

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


def _ends(interval: Interval, place: int, prefix: str) -> dict[str, float]:
    return {
        f"{prefix}accuracy": float(interval.value[place]),
        f"{prefix}ci_low": float(interval.low[place]),
        f"{prefix}ci_high": float(interval.high[place]),
    }


def _by_relation(cells: NDArray[Any], table: ArcTable) -> NDArray[Any]:
    """Sum distances away: `[group, cell, ...]` to `[group, relation, ...]`."""
    shape = (len(cells), len(table.relations), len(DISTANCES), *cells.shape[2:])
    total: NDArray[Any] = cells.reshape(shape).sum(2, dtype=np.int64)
    return total
