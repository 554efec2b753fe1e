"""Excerpts of long inputs, cut around where a head does its thing most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.attention.row_statistics import CLASSES, OFFSETS, RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass
from headscope.examples.clearest import ClearestResult
from headscope.statistics.role_catalogue import ROLES
from headscope.statistics.statistic_catalogue import STATISTICS

MOST_TOKENS = 32
_DECIMALS = 6


@dataclass(frozen=True)
class WantedExcerpt:
    """A segment on which a head is to be shown: by what, in which place, and how clear it is over the whole segment."""

    kind: str
    layer: int
    head: int
    behaviour: str
    rank: int
    value: float
    document: str
    segment: int

    @property
    def statistic(self) -> str:
        """The statistic that shows the behaviour."""
        return ROLES[self.behaviour].example


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


def wanted_segments(results: Iterable[ClearestResult], roles: pd.DataFrame) -> list[WantedExcerpt]:
    """Choose for each head the segments of the statistic that its role rests on (`mixed`: the largest weight).

    Args:
        results: of a `ClearestAccumulator`.
        roles: from `behaviours.roles`.
    """
    named = {
        (str(r["kind"]), int(r["layer"]), int(r["head"])): str(r["role"]) for r in roles.to_dict("records")
    }
    kept = {result.kind: result.kept for result in results}
    return [
        WantedExcerpt(kind, layer, head, role, rank, score, document, segment)
        for (kind, layer, head), role in named.items()
        for rank, (score, document, segment) in enumerate(
            kept.get(kind, {}).get((layer - 1, head - 1, ROLES[role].example), ()), start=1
        )
    ]


class ExcerptCollector:
    """Cut an excerpt out of each wanted segment (a scan consumer, for the chosen segments)."""

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[str] = "layer"

    def __init__(self, wanted: Sequence[WantedExcerpt], *, most_tokens: int = MOST_TOKENS) -> None:
        self.wanted = list(wanted)
        self.most_tokens = most_tokens
        self._of: dict[tuple[str, int, str, int], list[WantedExcerpt]] = {}
        for one in self.wanted:
            self._of.setdefault((one.kind, one.layer, one.document, one.segment), []).append(one)
        self._found: dict[WantedExcerpt, Excerpt] = {}

    @property
    def excerpts(self) -> list[Excerpt]:
        """What was found, in the order it was wanted."""
        return [self._found[one] for one in self.wanted if one in self._found]

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Cut what is wanted of one layer."""
        for item, (document, index) in enumerate(zip(tile.queries.documents, tile.queries.indices)):
            for one in self._of.get((tile.kind, tile.layer + 1, document, index), []):
                self._found[one] = self._cut(one, tile, item)

    def end(self, batch: Batch) -> None:
        """Close the batch."""

    def _cut(self, wanted: WantedExcerpt, tile: AttentionTile, item: int) -> Excerpt:
        sides = [
            {
                name: getattr(side, name)[item][side.valid[item]].cpu().numpy()
                for name in ("ids", "classes", "word_ids")
            }
            for side in (tile.queries, tile.keys)
        ]
        table = tile.weights[item, wanted.head - 1]
        weights = table[tile.row_valid[item]][:, tile.keys.valid[item]].float().cpu().numpy()
        shown = shown_on(wanted.statistic, weights, sides[1]["classes"])
        if tile.square:
            start, rows = best_stretch(shown, sides[0], most=self.most_tokens)
            columns = rows
        else:
            start, rows = best_stretch(np.diag(shown.sum(1)), sides[0], most=self.most_tokens)
            _, columns = best_stretch(np.diag(shown[rows].sum(0)), sides[1], most=self.most_tokens)
        return Excerpt(
            wanted=wanted,
            rows=rows,
            columns=columns,
            queries=sides[0]["ids"][rows],
            keys=sides[1]["ids"][columns],
            weights=weights[np.ix_(rows, columns)],
            start=start,
        )


def shown_on(
    statistic: str, weights: NDArray[np.float32], key_classes: NDArray[np.uint8] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how much of each row's statistic lies on each key, `[query, key]`: rows sum to the row's statistic.

    Args:
        statistic: one of `CLEAREST_STATISTICS`.
        weights: `[query, key]`.
        key_classes: `KeyClass` of each key, `[key]`.
    """
    exact = weights.astype(np.float64)
    quantity = STATISTICS[statistic].quantity
    if quantity in OFFSETS:
        queries, keys = np.indices(exact.shape)
        on = np.isin(keys - queries, OFFSETS[quantity])
    elif quantity in CLASSES:
        on = np.broadcast_to(np.isin(key_classes, CLASSES[quantity]), exact.shape)
    elif quantity is RowQuantity.ENTROPY:
        return -exact * np.log(np.where(exact > 0, exact, 1.0))
    else:
        on = np.arange(exact.shape[1]) == exact.argmax(1)[:, None]
    return np.where(on, exact, 0.0)


def best_stretch(
    shown: NDArray[np.float64], side: Mapping[str, NDArray[np.int64]], *, most: int
) -> tuple[int, NDArray[np.int64]]:
    """Choose the tokens to show: the stretch that holds most of what a head shows, and the special tokens.

    Args:
        shown: from `shown_on`, `[token, token]`.
        side: `classes` and `word_ids` of the tokens.
        most: tokens at most.

    Returns:
        Where the stretch begins, and all positions, in order. It begins and ends between words; of equal ones it is
        the first.
    """
    n = len(shown)
    if n <= most:
        return 0, np.arange(n)
    classes, words = side["classes"], side["word_ids"]
    special = np.flatnonzero((classes == int(KeyClass.CLS)) | (classes == int(KeyClass.SEP)))
    special = np.unique(np.concatenate([special[:2], special[-2:]]))
    room = most - len(special)
    begins = np.ones(n + 1, dtype=bool)
    begins[1:n] = (words[1:] == NO_WORD) | (words[1:] != words[:-1])
    starts = np.flatnonzero(begins[:n])
    edges = np.flatnonzero(begins)
    stops = edges[np.searchsorted(edges, np.minimum(starts + room, n), side="right") - 1]
    # A word longer than all that can be shown is cut.
    stops = np.where(stops > starts, stops, np.minimum(starts + room, n))
    # Sums over a stretch's rows and keys, and on the special tokens, which are shown with any stretch.
    plain = shown.copy()
    plain[:, special] = 0.0
    block = np.zeros((n + 1, n + 1))
    block[1:, 1:] = plain.cumsum(0).cumsum(1)
    line = np.concatenate([[0.0], shown[:, special].sum(1).cumsum()])
    held = block[stops, stops] - block[starts, stops] - block[stops, starts] + block[starts, starts]
    best = int((held + line[stops] - line[starts]).round(_DECIMALS).argmax())
    return int(starts[best]), np.union1d(np.arange(starts[best], stops[best]), special)
