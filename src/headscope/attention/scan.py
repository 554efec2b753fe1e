"""One pass over a source of tiles, many accumulators."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from headscope.attention.source import TileSource
from headscope.attention.tile import AttentionTile, join_rows
from headscope.encoding.batching import Batch
from headscope.errors import AttentionError


@runtime_checkable
class TileAccumulator(Protocol):
    """What a scan needs to know of an accumulator (`statistics.accumulator.Accumulator` is the whole of it)."""

    @property
    def needs(self) -> frozenset[str]:
        """What it reads of a tile: `weights`, row `statistics`."""

    @property
    def span(self) -> str:
        """What a tile must hold at least: some `rows`, or the whole `layer` of its segments."""

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Take one tile."""

    def end(self, batch: Batch) -> None:
        """Close the batch."""


@dataclass(frozen=True)
class ScanCounts:
    """What a scan went through so far, for progress.

    Attributes:
        segments: segments done.
        tokens: tokens in them.
        seconds: time since the scan began.
    """

    segments: int
    tokens: int
    seconds: float


def scan(
    source: TileSource,
    accumulators: Sequence[TileAccumulator],
    *,
    progress: Callable[[ScanCounts], None] | None = None,
) -> ScanCounts:
    """Feed every tile of a source to every accumulator.

    Args:
        source: a model over segments, or saved maps.
        accumulators: updated in place; ask each for `compute()` afterwards.
        progress: called after each batch.

    Raises:
        AttentionError: a weight is NaN or infinite; names layer, head and document.
    """
    consumer = _Feed(accumulators, progress)
    needs = frozenset().union(*(each.needs for each in accumulators))
    source.run(consumer, need_weights="weights" in needs, need_statistics="statistics" in needs)
    return consumer.counts


class _Feed:
    """Hand tiles on to accumulators, having checked that they are attention."""

    def __init__(
        self, accumulators: Sequence[TileAccumulator], progress: Callable[[ScanCounts], None] | None
    ) -> None:
        self.by_rows = [each for each in accumulators if each.span == "rows"]
        self.by_layer = [each for each in accumulators if each.span == "layer"]
        self.accumulators = accumulators
        self.progress = progress
        self.waiting: list[AttentionTile] = []
        self.began = time.perf_counter()
        self.counts = ScanCounts(0, 0, 0.0)

    def begin(self, batch: Batch) -> None:
        for accumulator in self.accumulators:
            accumulator.begin(batch)

    def update(self, tile: AttentionTile) -> None:
        check_finite(tile)
        for accumulator in self.by_rows:
            accumulator.update(tile)
        if self.by_layer and (layer := self._whole(tile)) is not None:
            for accumulator in self.by_layer:
                accumulator.update(layer)

    def _whole(self, tile: AttentionTile) -> AttentionTile | None:
        """Hold the tiles of a layer until all its rows are there; one layer at most is held."""
        self.waiting.append(tile)
        if tile.rows.stop < tile.queries.valid.shape[1]:
            return None
        layer = join_rows(self.waiting)
        self.waiting = []
        return layer

    def end(self, batch: Batch) -> None:
        for accumulator in self.accumulators:
            accumulator.end(batch)
        self.counts = ScanCounts(
            self.counts.segments + len(batch.segments),
            self.counts.tokens + sum(map(len, batch.segments)),
            time.perf_counter() - self.began,
        )
        if self.progress is not None:
            self.progress(self.counts)


def check_finite(tile: AttentionTile) -> None:
    """Stop at the first tile that has a NaN or an infinite weight in a row that counts.

    Raises:
        AttentionError: names layer, head and document.
    """
    given = tile.given_statistics
    rows = tile.weights.sum(-1) if given is None else given[..., 6:].sum(-1)
    if torch.isfinite(rows.sum()):
        return
    bad = ~torch.isfinite(rows) & tile.row_valid[:, None]
    if not bad.any():
        return  # only padding rows, which count nowhere
    item, head, row = (int(i) for i in bad.nonzero()[0])
    raise AttentionError(
        f"{tile.kind} head {tile.layer + 1}-{head + 1} has attention that is NaN or infinite, at token "
        f"{tile.start + row + 1} of segment {tile.queries.indices[item] + 1} of document "
        f"{tile.queries.documents[item]}; the weights or the input overflow: try --dtype float32, and check "
        "the checkpoint"
    )
