"""The source of tiles that runs two models over the same segments, batch by batch."""

from collections.abc import Set
from copy import copy
from dataclasses import replace

import numpy as np

from headscope.attention.head_id import SECOND
from headscope.attention.model.model_pass import TileConsumer
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch, of_one_length
from headscope.encoding.segment import NO_WORD, Segment
from headscope.models.anatomy import KindLayout, Together


def joint_layout(first: tuple[KindLayout, ...], second: tuple[KindLayout, ...]) -> tuple[KindLayout, ...]:
    """Return the kinds of attention of both models; kinds of the second are named `second encoder` and so on."""
    return (*first, *(replace(part, kind=SECOND + part.kind) for part in second))


class PairSource(SegmentSource):
    """Run two models over segments and pass on the attention of both as tiles of one batch.

    An accumulator gets first the tiles of the first model, then those of the second, whose kinds of attention have
    names of their own (`joint_layout`). All accumulators therefore work with two models as with two kinds of attention.
    If segments have partners, the second model reads these, and both sides keep the words that both have.

    Args:
        first: first model, over the segments.
        second: second model; its own segments are not read.
    """

    def __init__(self, first: ModelSource, second: ModelSource) -> None:
        self.first, self.second = first, second
        super().__init__(first.model, first.anatomy, first.vocabulary, first.batches)
        self.layout = joint_layout(first.anatomy.layout, second.anatomy.layout)

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""
        together = _stricter(self.first.anatomy.together, self.second.anatomy.together)
        for batch in self.batches:
            for segments in of_one_length(batch, together=together, lengths=_lengths):
                parts = _Parts(consumer)
                sides = zip(*map(_sides, segments), strict=True)
                for source, prefix, side in zip((self.first, self.second), ("", SECOND), sides, strict=True):
                    part = copy(source)
                    part.batches = [list(side)]
                    parts.prefix = prefix
                    part.run(parts, needs)
                parts.close()


def _lengths(segment: Segment) -> tuple[int, int]:
    return len(segment), len(segment.partner or segment)


def _sides(segment: Segment) -> tuple[Segment, Segment]:
    """Return the inputs of the two models; where their tokens differ, with the words that both inputs have."""
    if (partner := segment.partner) is None:
        return segment, segment
    here, there = segment.word_ids, partner.word_ids
    return (
        replace(segment, word_ids=np.where(np.isin(here, there), here, NO_WORD)),
        replace(partner, word_ids=np.where(np.isin(there, here), there, NO_WORD)),
    )


class _Parts:
    """Join the passes of two models over a batch: the consumer sees a single batch with the tiles of both."""

    def __init__(self, consumer: TileConsumer) -> None:
        self.consumer, self.prefix = consumer, ""
        self._batch: Batch | None = None

    def begin(self, batch: Batch) -> None:
        if self._batch is None:
            self._batch = batch
            self.consumer.begin(batch)

    def update(self, tile: AttentionTile) -> None:
        self.consumer.update(replace(tile, kind=self.prefix + tile.kind) if self.prefix else tile)

    def end(self, batch: Batch) -> None:
        """Wait for the other model."""

    def close(self) -> None:
        assert self._batch is not None
        self.consumer.end(self._batch)


def _stricter(first: Together, second: Together) -> Together:
    """Return the rule for sharing a batch that suits both models."""
    order: tuple[Together, ...] = ("padded", "equal", "alone")
    return max(first, second, key=order.index)
