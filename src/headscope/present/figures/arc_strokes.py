"""The drawn part of an example of figure 5: its words, lines and gold arcs, for the figure and for the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.encoding.tokenizer.token_names import SPECIAL_NAMES

MOST_TOKENS = 26
FAINTEST = 0.012
"""Smallest weight that is drawn: lines of smaller weights would be invisible."""

FAINT = 0.4
"""Factor on the darkness of lines that belong to no colored word."""

NOWHERE = -1
"""A prediction without a word: the mask left no candidate."""


@dataclass(frozen=True)
class Stroke:
    """A line from `query` to `key` (positions in the drawn window); `strong` if it belongs to a colored word."""

    query: int
    key: int
    weight: float
    strong: bool
    special: bool


@dataclass(frozen=True)
class ArcStrokes:
    """The drawn part of an example.

    Attributes:
        tokens: the words, including special tokens.
        weights: `[query, key]`, float64, the head's attention among the drawn words.
        arcs: gold pairs (attending word, word it should attend to).
        chosen: for each arc, the position chosen in place of the right one; None if the choice was right, NOWHERE if
            nothing could be chosen or the choice lies outside the drawn part.
        by_key: True if the choice is among the attending words (head->dependent), not the attended ones.
        special: positions of special tokens.
        first: start of the drawn part in the example, and `total` the number of words of the example.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    arcs: tuple[tuple[int, int], ...]
    chosen: tuple[int | None, ...]
    by_key: bool
    special: frozenset[int]
    first: int
    total: int

    @property
    def queries(self) -> frozenset[int]:
        """Colored words on the left."""
        return frozenset(query for query, _ in self.arcs)

    @property
    def keys(self) -> frozenset[int]:
        """Colored words on the right."""
        return frozenset(key for _, key in self.arcs)

    @property
    def mistaken(self) -> tuple[tuple[str, int], ...]:
        """The wrongly chosen words: their side (`query` or `key`) and position."""
        side = "query" if self.by_key else "key"
        return tuple(
            dict.fromkeys((side, position) for position in self.chosen if position is not None and position >= 0)
        )

    def strokes(self) -> list[Stroke]:
        """Return the lines to draw, the faint first, then from light to dark.

        Lines from a colored word on the left are strong; if the choice is among the attending words, lines to a colored
        word on the right.
        """
        lines = []
        for query, key in np.argwhere(self.weights >= FAINTEST).tolist():
            strong = key in self.keys if self.by_key else query in self.queries
            weight = float(self.weights[query, key])
            if strong or FAINT * weight >= FAINTEST:
                lines.append(Stroke(query, key, weight, strong, query in self.special or key in self.special))
        return sorted(lines, key=lambda stroke: (stroke.strong, stroke.weight, stroke.query, stroke.key))


def arcs_of(example: pd.Series, *, special: Collection[str] = SPECIAL_NAMES, most: int = MOST_TOKENS) -> ArcStrokes:
    """Read a row of `tables/arc_examples.parquet`, and cut a long one to the window with most of its arcs.

    Args:
        example: `tokens`, `weights` (row by row, tokens x tokens), `queries`, `keys`, `predicted` (-1 if there was
            nothing to choose), `direction`, `outcome`.
        special: names of the model's special tokens; they are recognized only at the ends.
        most: maximum number of words to draw.

    Raises:
        ValueError: weights that do not fit the tokens, or lists of other lengths.
    """
    tokens = [str(token) for token in example["tokens"]]
    weights = np.asarray(list(example["weights"]), dtype=np.float64)
    size = len(tokens)
    if weights.size != size * size:
        raise ValueError(
            f"Expected {size} x {size} weights for {size} tokens, got {weights.size}; write the weights row by row."
        )
    lists = [[int(position) for position in example[name]] for name in ("queries", "keys", "predicted")]
    every = list(zip(*lists, strict=True))
    by_key = str(example["direction"]) == "head->dependent"
    start = _start([(query, key) for query, key, _ in every], size, most)
    end = min(start + most, size)
    arcs: list[tuple[int, int]] = []
    chosen: list[int | None] = []
    for query, key, pick in every:
        if start <= query < end and start <= key < end:
            arcs.append((query - start, key - start))
            right = str(example["outcome"]) == "right" or pick == (query if by_key else key)
            chosen.append(None if right else pick - start if start <= pick < end else NOWHERE)
    ends = [position for position in {0, size - 1} if size and tokens[position] in special and start <= position < end]
    return ArcStrokes(
        tokens=tuple(tokens[start:end]),
        weights=weights.reshape(size, size)[start:end, start:end],
        arcs=tuple(arcs),
        chosen=tuple(chosen),
        by_key=by_key,
        special=frozenset(position - start for position in ends),
        first=start,
        total=size,
    )


def _start(arcs: Sequence[tuple[int, int]], size: int, most: int) -> int:
    """Return the start of the window with most arcs, the leftmost of equally good ones."""
    if size <= most:
        return 0
    inside = [sum(start <= min(arc) and max(arc) < start + most for arc in arcs) for start in range(size - most + 1)]
    return int(np.argmax(inside))
