"""Padded mini-batches of sentences of similar length, with the attention between their words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.data.map_cache import WordMaps
from headscope.analyses.probes.data.word_maps import SPECIAL

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
