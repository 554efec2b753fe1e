"""Attention between words, streamed from a model to the disk: the training data of probes."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.data.map_cache import TableWriter
from headscope.attention.head_id import HeadId
from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import WordAxis, axis_of, between_words
from headscope.attention.word_rows import places_of_words
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD, piece_holders, sent
from headscope.models.anatomy import KindLayout

SPECIAL = 2  # positions of a table before the words: the first special token and the last


def heads_of(layout: Sequence[KindLayout]) -> list[HeadId]:
    """Return the heads along the last axis of tables: kind by kind, layer by layer, without cross attention."""
    return [
        HeadId.at(part.kind, layer, head)
        for part in layout
        if part.kind != "cross"
        for layer in range(part.layers)
        for head in range(part.heads)
    ]


def bytes_of(words: Iterable[int], heads: int) -> int:
    """Return the size in bytes of the tables of sentences, from the number of words of each."""
    return sum((number + SPECIAL) ** 2 for number in words) * heads * 2


class WordMapCollector:
    """A scan accumulator that writes each segment's attention between words, `[position, position, head]`.

    A word without pieces neither attends nor is attended to. One table serves both directions. The layers of a batch
    are held in memory together, as float16 between words.

    Args:
        writer: writer of the tables.
        layout: the kinds of attention; cross attention, whose rows and columns are different words, is skipped.
        numbers: index in the treebank of each (document, index).
        pooling: attention from a split word (`attention.words.word_attention`).
    """

    needs: frozenset[str] = frozenset({"weights"})
    span: str = "layer"

    def __init__(
        self,
        writer: TableWriter,
        layout: Sequence[KindLayout],
        numbers: Mapping[tuple[str, int], int],
        *,
        pooling: str = "mean",
    ) -> None:
        self.writer, self.numbers, self.pooling = writer, numbers, pooling
        self.kinds = [part.kind for part in layout if part.kind != "cross"]
        self._words: list[int] = []
        self._holders = torch.zeros(0, 0, dtype=torch.int64)
        self._axes: dict[str, tuple[WordAxis, Tensor]] = {}
        self._layers: dict[str, list[Tensor]] = {}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._words = [len(segment.words) for segment in batch.segments]
        self._holders = torch.from_numpy(piece_holders(batch.segments, words=max(self._words, default=0)))
        self._axes = {}
        self._layers = {kind: [] for kind in self.kinds}

    def update(self, tile: AttentionTile) -> None:
        """Pool one layer to word level."""
        if tile.kind == "cross":
            return
        if tile.kind not in self._axes:
            axis = axis_of(tile.queries)
            self._axes[tile.kind] = axis, table_positions(axis, self._holders)
        axis, positions = self._axes[tile.kind]
        attention = between_words(tile.weights, axis, axis, pooling=self.pooling)
        self._layers[tile.kind].append(on_table(attention.half(), positions))

    def end(self, batch: Batch) -> None:
        """Write the batch's tables."""
        joined = torch.cat([layer for kind in self.kinds for layer in self._layers[kind]], dim=2)
        # Move heads from `[batch, position, head, position]` to the last axis, where a probe's weights are.
        for item, segment in enumerate(batch.segments):
            size = self._words[item] + SPECIAL
            table: NDArray[np.float16] = joined[item, :size, :, :size].transpose(1, 2).cpu().numpy()
            self.writer.add(self.numbers[segment.document, segment.index], table)
        self._layers = {}


def table_positions(axis: WordAxis, holders: Tensor) -> Tensor:
    """Return the position on an axis of each row of a table, -1 for a missing one, `[batch, 2 + word]`.

    The first row is the first special token, the second the last one if there are several.

    Args:
        axis: the words that have pieces.
        holders: for each word, the word that has its pieces (`piece_holders`), `[batch, word]`.
    """
    special = axis.valid & (axis.words == NO_WORD)
    at = torch.arange(axis.words.shape[1], device=axis.words.device)
    last = torch.where(special, at, -1).amax(1)
    first = torch.where(special, at, axis.words.shape[1]).amin(1)
    first = torch.where(last >= 0, first, -1)
    last = torch.where(last > first, last, -1)
    places = places_of_words(axis, holders.shape[1]).gather(1, sent(holders, at.device))
    return torch.cat([first[:, None], last[:, None], places], dim=1)


def on_table(attention: Tensor, positions: Tensor) -> Tensor:
    """Select rows and columns of attention between positions, 0 for a missing position.

    Args:
        attention: `[batch, head, query position, key position]`.
        positions: the position of each row of the table, -1 for none, `[batch, row]`.

    Returns:
        `[batch, row, head, row]`.
    """
    rows = attention.transpose(1, 2)
    batch, size = positions.shape
    items = torch.arange(batch, device=positions.device)[:, None]
    index = positions.clamp(min=0)
    taken = rows[items, index]
    table = taken.gather(3, index[:, None, None].expand(-1, size, taken.shape[2], -1))
    none = positions < 0
    return table.masked_fill_((none[:, :, None] | none[:, None, :])[:, :, None], 0)
