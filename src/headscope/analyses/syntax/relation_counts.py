"""The counts of `DependencyAccumulator` by relation, and the choice of the best head and the best fixed offset."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import OFFSETS, ArcTable, DependencySums
from headscope.statistics.inference.selection import Chosen, both_ways, held_out, same_data
from headscope.statistics.tables.frames import DISTANCES, FEWEST_ARCS, TOTALS


@dataclass(frozen=True)
class Candidate:
    """A head read in one direction."""

    kind: str
    layer: int
    head: int
    direction: str


class RelationCounts:
    """The counts of one model: relations with at least 100 arcs, and the two totals of any size.

    Args:
        accumulator: the accumulator after the scan.
        relations: names of the rows, if not the relations with at least 100 arcs; one without an arc is left out.

    Raises:
        ValueError: no arc was counted.

    Attributes:
        table, options, sums: the relations, options and counts of the accumulator.
        rows: the accumulator's relations that make up each row, by name.
        relations: rows of the tables, the totals first.
        candidates: every head in every direction, in the order of the arrays.
        hits: `[group, candidate, relation]`.
        counts: `[group, relation]`.
        offsets: hits of the fixed offsets, `[group, OFFSETS, relation]`.
    """

    def __init__(self, accumulator: DependencyAccumulator, *, relations: Collection[str] | None = None) -> None:
        self.table: ArcTable = accumulator.table
        self.options = accumulator.options
        self.sums: tuple[DependencySums, ...] = accumulator.compute()
        rows = self.table.aggregates
        first = self.sums[0]
        cells = _by_relation(first.counts, self.table)
        self.rows = {
            name: indices
            for name, indices in rows.items()
            if cells[:, indices].sum() >= (1 if name in TOTALS or relations is not None else FEWEST_ARCS)
            and (relations is None or name in relations)
            and name.partition(":")[0] != "root"
        }
        if not self.rows:
            raise ValueError("expected counts of at least one arc, came none; scan sentences with trees first")
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

    def reachable(self) -> NDArray[np.float64]:
        """Return the share of arcs that the mask allows, `[candidate, relation]`."""
        shares = []
        for part in self.sums:
            number = np.moveaxis(self._sum(part.reachable[None])[0], 0, -1)
            of_heads = np.repeat((number / self.counts.sum(0))[:, None], part.hits.shape[3], axis=1)
            shares.append(of_heads.reshape(-1, len(self.rows)))
        return np.concatenate(shares)

    def special_changes(self) -> dict[str, Any]:
        """Count the accuracies that change when special tokens are treated the other way, with the largest change."""
        other = np.concatenate([self._flat(part.other[None]) for part in self.sums], axis=2)
        changed = self._sum(other)[0].T
        difference = np.abs(changed - self.hits.sum(0)) / np.maximum(self.counts.sum(0), 1)
        return {
            "accuracies": int((difference > 0).sum()),
            "of": int(difference.size),
            "largest": float(difference.max(initial=0.0)),
        }

    def _flat(self, table: NDArray[Any]) -> NDArray[Any]:
        """Reshape `[group, cell or relation, layer, head, direction]` to `[group, relation, candidate]`."""
        flat = table.reshape(*table.shape[:2], -1)
        return _by_relation(flat, self.table) if table.shape[1] == self.table.cells else flat

    def _sum(self, table: NDArray[Any]) -> NDArray[Any]:
        """Sum `[group, relation, ...]` into the rows of the tables, `[group, row, ...]`."""
        return np.stack([table[:, indices].sum(1) for indices in self.rows.values()], axis=1)


def _by_relation(cells: NDArray[Any], table: ArcTable) -> NDArray[Any]:
    """Sum over distances: `[group, cell, ...]` to `[group, relation, ...]`."""
    shape = (len(cells), len(table.relations), len(DISTANCES), *cells.shape[2:])
    total: NDArray[Any] = cells.reshape(shape).sum(2, dtype=np.int64)
    return total


def choose_heads(counted: RelationCounts, *, seed: int) -> dict[str, Chosen]:
    """Return the best head of each relation, by kind of selection; compat has the paper's selection only."""
    order = _order(counted)
    hits = counted.hits[:, order]
    if counted.options.compat:
        selections = {"same-data": same_data(hits, counted.counts)}
    else:
        selections = both_ways(hits, counted.counts, seed=seed)
    return {name: _reordered(chosen, order) for name, chosen in selections.items()}


def choose_offsets(counted: RelationCounts, selection: str, *, seed: int) -> Chosen:
    """Return the best offset by the same selection as the head; the notebook breaks ties by the last one."""
    order = np.arange(len(OFFSETS))[:: -1 if counted.options.compat else 1]
    hits = _allowed_offsets(counted)[:, order]
    chosen = held_out(hits, counted.counts, seed=seed) if selection == "held-out" else same_data(hits, counted.counts)
    return _reordered(chosen, order)


def _reordered(chosen: Chosen, order: NDArray[np.int64]) -> Chosen:
    """Map candidate indices back from the order in which the first wins a tie to the original order."""
    candidate, picked = (np.where(indices < 0, -1, order[indices]) for indices in (chosen.candidate, chosen.picked))
    return replace(chosen, candidate=candidate, picked=picked)


def _allowed_offsets(counted: RelationCounts) -> NDArray[Any]:
    """Exclude offsets outside -3 to 2 in compat mode, because the notebook tries only these."""
    if not counted.options.compat:
        return counted.offsets
    outside = np.array([not -3 <= offset <= 2 for offset in OFFSETS])
    return np.where(outside[None, :, None], -1, counted.offsets)


def _order(counted: RelationCounts) -> NDArray[np.int64]:
    """Return candidates in the order in which the first wins a tie; in the notebook the last layer and head win."""
    indices = np.arange(len(counted.candidates))
    if not counted.options.compat:
        return indices
    last = [
        (candidate.layer, candidate.head, candidate.direction == "head->dependent") for candidate in counted.candidates
    ]
    return np.array(sorted(indices.tolist(), key=last.__getitem__, reverse=True))
