"""Attention between words for probes: written to the disk by a scan, and read in padded mini-batches of sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.map_cache import TableWriter, WordMaps
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


NO_TARGET = -1
# Batches' worth of sentences sorted by length together: evenly filled batches, yet a new mixture every epoch.
_WINDOW = 32


@dataclass(frozen=True, eq=False)
class ProbeBatch:
    """A batch of sentences, padded to the longest of them.

    Attributes:
        sentences: indices in the treebank, `[batch]`.
        words: index of each word's type, 0 for padding, `[batch, word]`.
        valid: False for padding, `[batch, word]`.
        targets: for each task, the target of each word: 0 the root, words from 1; `NO_TARGET` for padding,
            `[task, batch, word]`. Task 0 is the tree, the others are control tasks.
        labels: index of each word's relation, `UNKNOWN` for padding and relations that train lacks, `[batch, word]`.
        tables: attention between words, `[batch, word, word, head]` float32, from the first axis to the second.
        to_words: attention of the first and of the last special token to words, `[batch, 2, word, head]`.
        to_special: attention of words to these tokens, `[batch, word, 2, head]`.
    """

    sentences: NDArray[np.int64]
    words: Tensor
    valid: Tensor
    targets: Tensor
    labels: Tensor
    tables: Tensor
    to_words: Tensor
    to_special: Tensor

    def to(self, dtype: torch.dtype) -> "ProbeBatch":
        """Return the batch with its attention in another precision."""
        names = ("tables", "to_words", "to_special")
        return replace(self, **{name: getattr(self, name).to(dtype) for name in names})

    @cached_property
    def lengths(self) -> Tensor:
        """Number of words of each sentence, `[batch]`."""
        return self.valid.sum(1)

    @cached_property
    def flipped(self) -> Tensor:
        """The tables with attended words first, as a contiguous copy, `[batch, word, word, head]`."""
        return self.tables.transpose(1, 2).contiguous()


@dataclass(frozen=True, eq=False)
class ProbeData:
    """A treebank in the form that probes read, with the location of its attention.

    Attributes:
        words: index of each word's type, `[word]` for each sentence.
        targets: for each task, the target of each word, 0 the root, `[word]` for each sentence.
        labels: index of each word's relation.
        maps: attention between words; None for probes without attention.
        numbers: indices of the sentences to use: those that have attention.
    """

    words: Sequence[NDArray[np.int64]]
    targets: Sequence[Sequence[NDArray[np.int64]]]
    labels: Sequence[NDArray[np.int64]]
    maps: WordMaps | None
    numbers: NDArray[np.int64]

    def cut(
        self, numbers: NDArray[np.int64], *, most: int, weights: int, seed: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the sentences of each batch, all of similar length.

        Args:
            numbers: indices of the sentences to split into batches.
            most: largest number of sentences in a batch.
            weights: largest number of values in a batch's tables, except for a single sentence.
            seed: seed of the order; longest first when None.
        """
        order = numbers
        if seed is not None:
            order = np.random.default_rng(seed).permutation(numbers)
        window = len(order) if seed is None else _WINDOW * most
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), max(window, 1)):
            part = order[start : start + window]
            lengths = np.array([len(self.words[number]) for number in part.tolist()])
            part = part[np.argsort(-lengths, kind="stable")]
            batches += self._fitting(part, most=most, weights=weights)
        if seed is not None:
            np.random.default_rng([*seed, 1]).shuffle(batches)
        yield from batches

    def _fitting(self, ordered: NDArray[np.int64], *, most: int, weights: int) -> Iterator[NDArray[np.int64]]:
        start = 0
        while start < len(ordered):
            widest = (len(self.words[int(ordered[start])]) + SPECIAL) ** 2
            heads = 1 if self.maps is None else self.maps.heads
            number = max(1, min(most, weights // (widest * heads)))
            yield ordered[start : start + number]
            start += number

    def batch(self, numbers: NDArray[np.int64], *, device: torch.device | str = "cpu") -> ProbeBatch:
        """Collate sentences into one padded batch, with their attention read from the disk."""
        chosen = numbers.tolist()
        width = max(len(self.words[number]) for number in chosen)
        heads = 0 if self.maps is None else self.maps.heads
        tables = torch.zeros((len(chosen), width, width, heads), device=device)
        to_words = torch.zeros((len(chosen), SPECIAL, width, heads), device=device)
        to_special = torch.zeros((len(chosen), width, SPECIAL, heads), device=device)
        if self.maps is not None:
            for item, number in enumerate(chosen):
                table = self.maps.table(number).to(device)
                size = len(table) - SPECIAL
                tables[item, :size, :size] = table[SPECIAL:, SPECIAL:]
                to_words[item, :, :size] = table[:SPECIAL, SPECIAL:]
                to_special[item, :size] = table[SPECIAL:, :SPECIAL]

        def padded(rows: Sequence[NDArray[np.int64]], fill: int) -> Tensor:
            out = np.full((len(chosen), width), fill, dtype=np.int64)
            for line, number in zip(out, chosen):
                line[: len(rows[number])] = rows[number]
            return torch.from_numpy(out).to(device)

        words = padded(self.words, -1)
        return ProbeBatch(
            sentences=numbers,
            words=words.clamp(min=0),
            valid=words >= 0,
            targets=torch.stack([padded(task, NO_TARGET) for task in self.targets]),
            labels=padded(self.labels, NO_TARGET),
            tables=tables,
            to_words=to_words,
            to_special=to_special,
        )
