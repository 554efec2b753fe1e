"""Excerpts of long inputs, cut around where a head does its thing most."""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.attention.row_statistics import CLASSES, OFFSETS, RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass
from headscope.examples.clearest import FEWEST_ROWS, MOST_KEPT, ClearestResult
from headscope.examples.clearest_segments import Entry
from headscope.statistics.role_catalog import ROLES
from headscope.statistics.statistic_catalog import STATISTICS

MOST_TOKENS = 32
LOOKED_AT = 128
"""Of a longer input an excerpt is looked for among so many rows, those in which the head does its thing most."""
_DECIMALS = 6

Input = tuple[str, int]
"""A document and the index of an input in it."""
Place = tuple[str, int, int]
"""A head: its kind, and its layer and number from 0."""


@dataclass(frozen=True)
class WantedExcerpt:
    """A segment on which a head is to be shown: by what, in which place, and how clear it is over the whole segment."""

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
        wanted: what is shown.
        rows: positions of the tokens that attend, in the segment, `[query]`.
        columns: positions of the tokens attended to, `[key]`.
        queries, keys: their ids.
        weights: `[query, key]` float32; rows need not sum to 1, as the rest of the segment is left out.
        start: position at which the stretch begins; special tokens before it are shown with it.
    """

    wanted: WantedExcerpt
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    queries: NDArray[np.int64]
    keys: NDArray[np.int64]
    weights: NDArray[np.float32]
    start: int


def inputs_to_read(
    results: Iterable[ClearestResult], roles: pd.DataFrame, lengths: Mapping[Input, int], *, tokens: int
) -> list[Input]:
    """Choose the inputs on which heads are shown: the clearest of most heads come first, as long as there is room.

    Args:
        results: of a `ClearestAccumulator`; a head is shown by the statistic that its role rests on.
        roles: from `behaviors.roles`.
        lengths: of the inputs, in tokens.
        tokens: in those that are chosen, at most; one is chosen however long it is.
    """
    kept = {result.kind: result.kept for result in results}
    heads: Counter[Input] = Counter(
        (document, segment)
        for (kind, layer, head), statistic in shown_by(roles).items()
        for _, document, segment in kept.get(kind, {}).get((layer, head, statistic), ())
    )
    ordered = sorted(heads, key=lambda key: (-heads[key], key))
    room = np.cumsum([lengths[key] for key in ordered]) <= tokens
    return [key for place, key in enumerate(ordered) if place == 0 or room[place]]


def shown_by(roles: pd.DataFrame) -> dict[Place, str]:
    """Return the statistic that shows each head's role, by kind and 0-based layer and head."""
    return {
        (str(row["kind"]), int(row["layer"]) - 1, int(row["head"]) - 1): ROLES[str(row["role"])].example
        for row in roles.to_dict("records")
    }


class ExcerptCollector:
    """Cut an excerpt out of the clearest inputs of each head (a scan consumer, for the chosen inputs).

    Args:
        roles: from `behaviors.roles`; a head is shown by the statistic that its role rests on.
        most: excerpts of each head.
        most_tokens: of an excerpt.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics"})
    span: ClassVar[str] = "layer"

    def __init__(self, roles: pd.DataFrame, *, most: int = MOST_KEPT, most_tokens: int = MOST_TOKENS) -> None:
        self.most, self.most_tokens = most, most_tokens
        self._statistic = shown_by(roles)
        self._role = dict(zip(self._statistic, roles["role"].astype(str), strict=True))
        self._found: dict[Place, list[tuple[Entry, Excerpt]]] = {}

    @property
    def excerpts(self) -> list[Excerpt]:
        """What was found, head by head in the order of the roles, the clearest first."""
        return [
            replace(excerpt, wanted=replace(excerpt.wanted, rank=rank))
            for place in self._statistic
            for rank, (_, excerpt) in enumerate(self._found.get(place, ()), start=1)
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
                place = tile.kind, tile.layer, head
                if place not in self._statistic:
                    continue
                quantity = STATISTICS[self._statistic[place]].quantity
                value, kept = float(means[head, quantity]), self._found.setdefault(place, [])
                entry = -value, document, index
                if value > 0 and (len(kept) < self.most or entry < kept[-1][0]):
                    excerpt = self._cut(place, entry, tile, item, highest(rows[head, :, quantity]))
                    insort(kept, (entry, excerpt), key=lambda pair: pair[0])
                    del kept[self.most :]

    def end(self, batch: Batch) -> None:
        """Close the batch."""

    def _cut(self, place: Place, entry: Entry, tile: AttentionTile, item: int, part: slice) -> Excerpt:
        """Cut an excerpt out of a part of an input."""
        sides = [
            {
                name: getattr(side, name)[item][side.valid[item]].cpu().numpy()
                for name in ("ids", "classes", "word_ids")
            }
            for side in (tile.queries, tile.keys)
        ]
        first, statistic, most = part.start, self._statistic[place], self.most_tokens
        row_places = tile.row_valid[item].nonzero()[:, 0]
        table = tile.weights[item, place[2]][:, tile.keys.valid[item]]
        part_weights = table[row_places[part]].float().cpu().numpy()
        shown = shown_on(statistic, part_weights, sides[1]["classes"], first=first)
        if tile.square:
            start, rows = best_stretch(shown, sides[0], most=most, first=first)
            columns = rows
        else:
            by_row = np.zeros((len(shown), len(sides[0]["ids"])))
            by_row[:, part] = np.diag(shown.sum(1))
            start, rows = best_stretch(by_row, sides[0], most=most, first=first)
            inside = rows[(rows >= first) & (rows < part.stop)] - first
            _, columns = best_stretch(np.diag(shown[inside].sum(0)), sides[1], most=most)
        weights = table[row_places[torch.from_numpy(rows)]].float().cpu().numpy()
        return Excerpt(
            wanted=WantedExcerpt(
                place[0], place[1] + 1, place[2] + 1, self._role[place], 0, -entry[0], *entry[1:]
            ),
            rows=rows,
            columns=columns,
            queries=sides[0]["ids"][rows],
            keys=sides[1]["ids"][columns],
            weights=weights[:, columns],
            start=start,
        )


def highest(values: NDArray[np.float64], *, most: int = LOOKED_AT) -> slice:
    """Return the stretch of rows whose values sum to the most, the first of equal ones; all rows where they are few.

    Args:
        values: of each row, `[row]`.
        most: rows at most.
    """
    if len(values) <= most:
        return slice(0, len(values))
    sums = np.concatenate([[0.0], values.cumsum()])
    start = int((sums[most:] - sums[:-most]).round(_DECIMALS).argmax())
    return slice(start, start + most)


def shown_on(
    statistic: str,
    weights: NDArray[np.float32],
    key_classes: NDArray[np.uint8] | NDArray[np.int64],
    *,
    first: int = 0,
) -> NDArray[np.float64]:
    """Return how much of each row's statistic lies on each key, `[query, key]`: rows sum to the row's statistic.

    Args:
        statistic: one of `CLEAREST_STATISTICS`.
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
        return -exact * np.log(np.where(exact > 0, exact, 1.0))
    else:
        on = np.arange(exact.shape[1]) == exact.argmax(1)[:, None]
    return np.where(on, exact, 0.0)


def best_stretch(
    shown: NDArray[np.float64], side: Mapping[str, NDArray[np.int64]], *, most: int, first: int = 0
) -> tuple[int, NDArray[np.int64]]:
    """Choose the tokens to show: the stretch that holds most of what a head shows, and the special tokens.

    Args:
        shown: from `shown_on`, `[row, token]`: of all rows, or of a part of them, within which the stretch then lies.
        side: `classes` and `word_ids` of the tokens.
        most: tokens at most.
        first: position of the first row.

    Returns:
        Where the stretch begins, and all positions, in order. It begins and ends between words; of equal ones it is
        the first.
    """
    rows, n = shown.shape
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
    # A word longer than all that can be shown is cut.
    stops = np.where(stops > starts, stops, np.minimum(starts + room, end))
    # Sums over a stretch's rows and keys, and on the special tokens, which are shown with any stretch.
    plain = shown.copy()
    plain[:, special] = 0.0
    block = np.zeros((rows + 1, rows + 1))
    block[1:, 1:] = plain[:, first:end].cumsum(0).cumsum(1)
    line = np.concatenate([[0.0], shown[:, special].sum(1).cumsum()])
    low, high = starts - first, stops - first
    held = block[high, high] - block[low, high] - block[high, low] + block[low, low]
    best = int((held + line[high] - line[low]).round(_DECIMALS).argmax())
    return int(starts[best]), np.union1d(np.arange(starts[best], stops[best]), special)
