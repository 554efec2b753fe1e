"""The counts of dependency heads, and the options by which predictions are derived from attention."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = ("dependent->head", "head->dependent")
NOOP_CLASSES = ("sep", "cls")


@dataclass(frozen=True, kw_only=True)
class DependencyOptions:
    """Options by which predictions are derived from attention.

    Attributes:
        pooling: attention from a split word: `mean`, `first` or `max` (`attention.words.word_attention`).
        special: True if special tokens are candidates too.
        both: True if the sum of the two directions is scored as well.
        compat: True for the original notebook's choices (see `arcs.gold_arcs` and `arcs.head_answers`).
    """

    pooling: str = "mean"
    special: bool = False
    both: bool = False
    compat: bool = False

    @property
    def directions(self) -> tuple[str, ...]:
        """Names of the directions that are scored."""
        return (*DIRECTIONS, "both") if self.both else DIRECTIONS


@dataclass(frozen=True)
class DependencySums:
    """The counts of one kind of attention; `cell` is relation x distance.

    Attributes:
        kind: `encoder` or `decoder`.
        hits: right answers, `[group, cell, layer, head, direction]`.
        noop: attention to sep and cls from the words that attend in a relation, each counted once per relation, without
            an input's first and last word; see `arcs.attending`,
            `[fewer groups, relation, direction, layer, head, NOOP_CLASSES]`.
        attending: number of those words, `[fewer groups, relation, direction]`.
        counts: arcs, `[group, cell]`.
        offsets: right answers of each fixed offset, `[group, cell, OFFSETS]`.
        reachable: arcs that the mask allows, `[relation, layer, direction]`.
        other: right answers with special tokens treated the other way, `[relation, layer, head, direction]`.
    """

    kind: str
    hits: NDArray[np.int32]
    noop: NDArray[np.float64]
    attending: NDArray[np.int32]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int32]
    reachable: NDArray[np.int64]
    other: NDArray[np.int64]
