"""The choice of the best head and the best fixed offset of each relation, held-out and as in the notebook."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.syntax.arcs.gold_arcs import OFFSETS
from headscope.analyses.syntax.relation_counts import RelationCounts
from headscope.statistics.inference.selection import Chosen, both_ways, held_out, same_data


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
