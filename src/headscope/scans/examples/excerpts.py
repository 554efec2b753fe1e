"""Excerpts of long inputs, cut around the rows in which a head's behavior is clearest."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.attention.row_quantities import CLASSES, OFFSETS, RowQuantity
from headscope.attention.row_statistics import entropy_by_key
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass
from headscope.scans.examples.top_examples import FEWEST_ROWS, MOST_KEPT, Entry, TopExamples
from headscope.statistics.roles import ROLES
from headscope.statistics.statistic_catalog import STATISTICS

MOST_TOKENS = 32
LOOKED_AT = 128
"""Number of rows, those with the most of the head's behavior, from which an excerpt of a longer input is cut."""
_DECIMALS = 6

Input = tuple[str, int]
"""A document and the index of an input in it."""
HeadIndex = tuple[str, int, int]
"""Kind, 0-based layer and 0-based head."""


@dataclass(frozen=True)
class WantedExcerpt:
    """A segment on which a head is drawn, with the behavior, its rank, and its value over the whole segment."""

    kind: str
    layer: int
    head: int
    behavior: str
    rank: int
    value: float
    document: str
    segment: int


@dataclass(frozen=True)
class Excerpt:
    """Part of a segment's attention by one head.

    Attributes:
        wanted: head, segment and behavior.
        rows: positions of the attending tokens in the segment, `[query]`.
        columns: positions of the attended tokens, `[key]`.
        queries, keys: ids of these tokens.
        weights: `[query, key]` float32; rows need not sum to 1, because the rest of the segment is left out.
        start: position of the beginning of the stretch, which special tokens may precede.
    """

    wanted: WantedExcerpt
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    queries: NDArray[np.int64]
    keys: NDArray[np.int64]
    weights: NDArray[np.float32]
    start: int

    def as_row(self, tokens: list[str], keys: list[str], text: str) -> dict[str, Any]:
        """Return the head, the behavior and the input, and the words with the attention between them, row by row.

        Args:
            tokens, keys, text: readable rows and columns, and the text, from `excerpt_words` of the run.
        """
        weights = self.weights.astype("float64").reshape(-1).tolist()
        words = {"start": self.start, "tokens": tokens, "keys": keys, "weights": weights, "text": text}
        return {**vars(self.wanted), **words}


def inputs_to_read(
    examples: Mapping[str, TopExamples], roles: pd.DataFrame, lengths: Mapping[Input, int], *, tokens: int
) -> list[Input]:
    """Choose the inputs on which heads are drawn: first those that are among the top examples of the most heads.

    Args:
        examples: top examples of a `TopExampleAccumulator`, by kind; a head's statistic is that of its role.
        roles: roles from `behaviors.roles`.
        lengths: lengths of the inputs, in tokens.
        tokens: largest total length; the first input may be longer.
    """
    heads: Counter[Input] = Counter(
        (document, segment)
        for (kind, layer, head), statistic in example_statistics(roles).items()
        for _, document, segment in examples.get(kind, {}).get((layer, head, statistic), ())
    )
    ordered = sorted(heads, key=lambda key: (-heads[key], key))
    room = np.cumsum([lengths[key] for key in ordered]) <= tokens
    return [key for index, key in enumerate(ordered) if index == 0 or room[index]]


def example_statistics(roles: pd.DataFrame) -> dict[HeadIndex, str]:
    """Return the statistic that selects the examples of each head's role."""
    return {
        (str(row["kind"]), int(row["layer"]) - 1, int(row["head"]) - 1): ROLES[str(row["role"])].example
        for row in roles.to_dict("records")
    }


class ExcerptCollector:
    """Cuts excerpts out of the clearest inputs of each head (a scan consumer, for the chosen inputs).

    Args:
        roles: roles from `behaviors.roles`; a head's statistic is that of its role.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics"})
    span: ClassVar[str] = "layer"

    def __init__(self, roles: pd.DataFrame) -> None:
        self._statistic = example_statistics(roles)
        self._role = dict(zip(self._statistic, roles["role"].astype(str), strict=True))
        self._excerpts: dict[HeadIndex, list[tuple[Entry, Excerpt]]] = {}

    @property
    def excerpts(self) -> list[Excerpt]:
        """The excerpts, head by head in the order of the roles, the clearest first."""
        return [
            replace(excerpt, wanted=replace(excerpt.wanted, rank=rank))
            for head in self._statistic
            for rank, (_, excerpt) in enumerate(self._excerpts.get(head, ()), start=1)
        ]

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Cut excerpts of one layer out of the inputs that are among a head's clearest so far."""
        for item, (document, index) in enumerate(zip(tile.queries.documents, tile.queries.indices)):
            rows = tile.statistics[item][:, tile.row_valid[item]].double().cpu().numpy()
            if rows.shape[1] < FEWEST_ROWS:
                continue
            means = rows.mean(1).round(_DECIMALS)
            for head in range(len(means)):
                head_index = tile.kind, tile.layer, head
                if head_index not in self._statistic:
                    continue
                quantity = STATISTICS[self._statistic[head_index]].quantity
                value, excerpts_of_head = (float(means[head, quantity]), self._excerpts.setdefault(head_index, []))
                entry = -value, document, index
                if value > 0 and (len(excerpts_of_head) < MOST_KEPT or entry < excerpts_of_head[-1][0]):
                    excerpt = self._cut(head_index, entry, tile, item, highest(rows[head, :, quantity]))
                    insort(excerpts_of_head, (entry, excerpt), key=lambda pair: pair[0])
                    del excerpts_of_head[MOST_KEPT:]

    def end(self, batch: Batch) -> None:
        """Close the batch."""

    def _cut(self, head: HeadIndex, entry: Entry, tile: AttentionTile, item: int, stretch: slice) -> Excerpt:
        """Cut an excerpt out of a stretch of an input."""
        layer, number = head[1] + 1, head[2] + 1
        wanted = WantedExcerpt(head[0], layer, number, self._role[head], 0, -entry[0], *entry[1:])
        statistic = self._statistic[head]

        def by_key(weights: NDArray[np.float32]) -> NDArray[np.float64]:
            classes = tile.keys.classes[item][tile.keys.valid[item]].cpu().numpy()
            return statistic_by_key(statistic, weights, classes, first=stretch.start)

        return cut_excerpt(wanted, tile, item, stretch, by_key)


def cut_excerpt(
    wanted: WantedExcerpt,
    tile: AttentionTile,
    item: int,
    stretch: slice,
    by_key: Callable[[NDArray[np.float32]], NDArray[np.float64]],
) -> Excerpt:
    """Cut an excerpt from a stretch of an input: the tokens around which a head shows a behavior most.

    Args:
        wanted: head and input.
        tile: tile of the whole layer.
        item: index of the input in the batch.
        stretch: rows within which the excerpt lies.
        by_key: function that returns the amount of the behavior for each pair, `[query, key]`, given the stretch's
            weights.
    """
    sides = [
        {name: getattr(side, name)[item][side.valid[item]].cpu().numpy() for name in ("ids", "classes", "word_ids")}
        for side in (tile.queries, tile.keys)
    ]
    first, most = stretch.start, MOST_TOKENS
    row_positions = tile.row_valid[item].nonzero()[:, 0]
    table = tile.weights[item, wanted.head - 1][:, tile.keys.valid[item]]
    amounts = by_key(table[row_positions[stretch]].float().cpu().numpy())
    if tile.square:
        start, rows = best_stretch(amounts, sides[0], most=most, first=first)
        columns = rows
    else:
        by_row = np.zeros((len(amounts), len(sides[0]["ids"])))
        by_row[:, stretch] = np.diag(amounts.sum(1))
        start, rows = best_stretch(by_row, sides[0], most=most, first=first)
        inside = rows[(rows >= first) & (rows < stretch.stop)] - first
        _, columns = best_stretch(np.diag(amounts[inside].sum(0)), sides[1], most=most)
    weights = table[row_positions[torch.from_numpy(rows)]].float().cpu().numpy()
    return Excerpt(
        wanted=wanted,
        rows=rows,
        columns=columns,
        queries=sides[0]["ids"][rows],
        keys=sides[1]["ids"][columns],
        weights=weights[:, columns],
        start=start,
    )


def highest(values: NDArray[np.float64]) -> slice:
    """Return the first stretch of rows with the largest sum of values; all rows if they are few.

    Args:
        values: value of each row, `[row]`.
    """
    if len(values) <= LOOKED_AT:
        return slice(0, len(values))
    sums = np.concatenate([[0.0], values.cumsum()])
    start = int((sums[LOOKED_AT:] - sums[:-LOOKED_AT]).round(_DECIMALS).argmax())
    return slice(start, start + LOOKED_AT)


def statistic_by_key(
    statistic: str, weights: NDArray[np.float32], key_classes: NDArray[np.uint8] | NDArray[np.int64], *, first: int = 0
) -> NDArray[np.float64]:
    """Return each row's statistic by key, `[query, key]`: a row sums to its statistic.

    Args:
        statistic: one of `TOP_EXAMPLE_STATISTICS`.
        weights: `[query, key]`.
        key_classes: `KeyClass` of each key, `[key]`.
        first: position of the first row.
    """
    exact = weights.astype(np.float64)
    quantity = STATISTICS[statistic].quantity
    if quantity in OFFSETS:
        queries, keys = np.indices(exact.shape)
        on = np.isin(keys - queries - first, OFFSETS[quantity])
    elif quantity in CLASSES:
        on = np.broadcast_to(np.isin(key_classes, CLASSES[quantity]), exact.shape)
    elif quantity is RowQuantity.ENTROPY:
        return entropy_by_key(exact)
    else:
        on = np.arange(exact.shape[1]) == exact.argmax(1)[:, None]
    return np.where(on, exact, 0.0)


def best_stretch(
    by_key: NDArray[np.float64], side: Mapping[str, NDArray[np.int64]], *, most: int, first: int = 0
) -> tuple[int, NDArray[np.int64]]:
    """Choose the tokens of an excerpt: the stretch with the most of a head's statistic, and the special tokens.

    Args:
        by_key: result of `statistic_by_key`, `[row, token]`, for the rows within which the stretch lies.
        side: `classes` and `word_ids` of the tokens.
        most: maximum number of tokens.
        first: position of the first row.

    Returns:
        The beginning of the stretch, and all positions, in order. The stretch begins and ends between words; of equally
        good ones it is the first.
    """
    rows, n = by_key.shape
    if n <= most:
        return 0, np.arange(n)
    classes, words = side["classes"], side["word_ids"]
    special = np.flatnonzero((classes == int(KeyClass.CLS)) | (classes == int(KeyClass.SEP)))
    special = np.unique(np.concatenate([special[:2], special[-2:]]))
    room = most - len(special)
    begins = np.ones(n + 1, dtype=bool)
    begins[1:n] = (words[1:] == NO_WORD) | (words[1:] != words[:-1])
    end = first + rows
    begins[first] |= not begins[first:end].any()
    starts = first + np.flatnonzero(begins[first:end])
    edges = np.flatnonzero(begins)
    stops = edges[np.searchsorted(edges, np.minimum(starts + room, end), side="right") - 1]
    # A word longer than the excerpt is cut.
    stops = np.where(stops > starts, stops, np.minimum(starts + room, end))
    # Sums over a stretch's rows and keys, plus those on the special tokens, which belong to every excerpt.
    plain = by_key.copy()
    plain[:, special] = 0.0
    block = np.zeros((rows + 1, rows + 1))
    block[1:, 1:] = plain[:, first:end].cumsum(0).cumsum(1)
    line = np.concatenate([[0.0], by_key[:, special].sum(1).cumsum()])
    low, high = starts - first, stops - first
    amounts = block[high, high] - block[low, high] - block[high, low] + block[low, low]
    best = int((amounts + line[high] - line[low]).round(_DECIMALS).argmax())
    return int(starts[best]), np.union1d(np.arange(starts[best], stops[best]), special)
