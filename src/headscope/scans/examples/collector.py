"""Sentences on which heads are drawn: the clearest for each behavior, and a few shared by all heads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.scans.examples.example_tables import EXAMPLES, SHARED
from headscope.statistics.roles import strongest
from headscope.statistics.statistic_catalog import STATISTICS

MOST_TOKENS = 30
_MEMORY = 64 << 20  # largest size of the maps in bytes
MOST_SHARED = 3
"""Maximum number of sentences on which all heads are drawn."""
_SHARED_WEIGHTS = 1_000_000
"""Maximum number of weights on these sentences, unless a single one has more, so that files of large models stay
small."""


@dataclass(frozen=True)
class ExampleMaps:
    """The attention of every head of one kind on one short segment.

    Attributes:
        kind: kind of the heads.
        document: id of the document.
        segment: index of the segment in it.
        queries: token ids of the rows.
        keys: token ids of the columns.
        weights: `[layer, head, query, key]` float32.
        values: mean over rows of each row statistic, `[layer, head, ROW_STATISTICS]`.
    """

    kind: str
    document: str
    segment: int
    queries: NDArray[np.int64]
    keys: NDArray[np.int64]
    weights: NDArray[np.float32]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class MapTokens:
    """The readable tokens of a map.

    Attributes:
        queries: tokens of the rows.
        keys: tokens of the columns.
        continues_word: 0-based indices of the columns that continue the word of the previous one.
    """

    queries: list[str]
    keys: list[str]
    continues_word: list[int]


Names = Callable[[ExampleMaps], MapTokens]


class ExampleCollector:
    """Keeps whole maps of the first short segments (a scan consumer, for a few sentences).

    Longer segments are cut to `MOST_TOKENS` rows and columns.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics"})
    span: ClassVar[str] = "rows"

    def __init__(self) -> None:
        self.maps: list[ExampleMaps] = []
        self._open: dict[str, list[AttentionTile]] = {}
        self._bytes = 0

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._open = {}

    def update(self, tile: AttentionTile) -> None:
        """Keep the batch's tiles until it is closed."""
        self._open.setdefault(tile.kind, []).append(tile)

    def end(self, batch: Batch) -> None:
        """Cut each segment's maps out of the batch."""
        for kind, tiles in self._open.items():
            # The first tile is enough, because a segment longer than a tile is cut anyway.
            tiles = [tile for tile in tiles if tile.start == 0]
            for item in range(len(batch.segments)):
                if self._bytes < _MEMORY:
                    self._keep(kind, tiles, item)
        self._open = {}

    def _keep(self, kind: str, tiles: list[AttentionTile], item: int) -> None:
        first = tiles[0]
        rows = first.row_valid[item].nonzero()[:MOST_TOKENS, 0]
        keys = first.keys.valid[item].nonzero()[:MOST_TOKENS, 0]
        weights = np.stack([tile.weights[item][:, rows][:, :, keys].float().cpu().numpy() for tile in tiles])
        values = np.stack([tile.statistics[item][:, rows].double().mean(1).cpu().numpy() for tile in tiles])
        self._bytes += weights.nbytes
        self.maps.append(
            ExampleMaps(
                kind=kind,
                document=first.queries.documents[item],
                segment=first.queries.indices[item],
                queries=first.queries.ids[item][rows].cpu().numpy(),
                keys=first.keys.ids[item][keys].cpu().numpy(),
                weights=weights,
                values=values,
            )
        )


def examples_table(maps: list[ExampleMaps], stats: pd.DataFrame, roles: pd.DataFrame, *, names: Names) -> pd.DataFrame:
    """Choose examples: for each behavior the sentence in which its strongest head shows it most; a few for all heads.

    Args:
        maps: maps from an `ExampleCollector`.
        stats: table `stats.parquet`.
        roles: roles from `behaviors.roles`.
        names: function that returns the readable tokens of a map's rows and columns.

    Returns:
        The table `examples.parquet`: `weights` is row-major over tokens and keys; `behavior` is a role, or
        `shared` for the sentences that every head is drawn on, the clearest first (`value` is then the head's largest
        weight).
    """
    rows = []
    for kind in dict.fromkeys(each.kind for each in maps):
        maps_of_kind = [each for each in maps if each.kind == kind]
        best = strongest(stats, roles)
        best = best[best["kind"] == kind]
        behavior_maps: list[ExampleMaps] = []
        for head in best.to_dict("records"):
            column = STATISTICS[head["statistic"]].quantity
            layer, number = int(head["layer"]), int(head["head"])
            clearest = max(maps_of_kind, key=lambda m: m.values[layer - 1, number - 1, column])
            value = clearest.values[layer - 1, number - 1, column]
            rows.append(_row(clearest, layer, number, head["role"], float(value), names))
            behavior_maps.append(clearest)
        for shared in few_sentences([_shared(maps_of_kind, best), *behavior_maps]):
            for layer in range(shared.weights.shape[0]):
                for number in range(shared.weights.shape[1]):
                    largest = float(shared.weights[layer, number].max())
                    rows.append(_row(shared, layer + 1, number + 1, SHARED, largest, names))
    return pd.DataFrame(rows, columns=EXAMPLES.names)


def few_sentences(maps: Sequence[ExampleMaps], *, most_weights: int = _SHARED_WEIGHTS) -> list[ExampleMaps]:
    """Return the first maps of different sentences, at least one, for drawing all heads.

    Args:
        maps: maps by decreasing priority; repetitions are ignored.
        most_weights: maps after the first are added while the total number of weights is at most this.
    """
    by_sentence: dict[tuple[str, int], ExampleMaps] = {}
    for example in maps:
        by_sentence.setdefault((example.document, example.segment), example)
    few = list(by_sentence.values())[:MOST_SHARED]
    size = np.cumsum([example.weights.size for example in few])
    return [example for index, example in enumerate(few) if index == 0 or size[index] <= most_weights]


def _shared(maps: list[ExampleMaps], best: pd.DataFrame) -> ExampleMaps:
    """Choose the sentence on which the strongest heads together show their behaviors most clearly."""
    indices = [
        (int(h["layer"]) - 1, int(h["head"]) - 1, STATISTICS[h["statistic"]].quantity) for h in best.to_dict("records")
    ]
    if not indices:
        return sorted(maps, key=lambda m: len(m.queries))[len(maps) // 2]
    table = np.array([[m.values[index] for index in indices] for m in maps])
    # Scores are standardized, because entropies in nats would dominate shares.
    spread = table.std(0)
    scores = ((table - table.mean(0)) / np.where(spread > 0, spread, 1)).sum(1)
    return maps[int(scores.argmax())]


def _row(maps: ExampleMaps, layer: int, head: int, behavior: str, value: float, names: Names) -> dict[str, object]:
    tokens = names(maps)
    return {
        "kind": maps.kind,
        "layer": layer,
        "head": head,
        "behavior": behavior,
        "value": value,
        "document": maps.document,
        "segment": maps.segment,
        "tokens": tokens.queries,
        "keys": tokens.keys,
        "continues_word": tokens.continues_word,
        "weights": maps.weights[layer - 1, head - 1].reshape(-1).tolist(),
    }
