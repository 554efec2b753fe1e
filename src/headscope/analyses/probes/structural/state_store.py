"""Sentences with trees and their word vectors in every layer, on disk as float16, so that none are held in memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.probes.tree_sentences import is_punctuation
from headscope.attention.word_rows import WordStates
from headscope.encoding.sentence_packing import arcs_of_fields

_LARGEST = 65504.0  # of float16


@dataclass(frozen=True, eq=False)
class StoredSentence:
    """A sentence of the store.

    Attributes:
        document: id of its document.
        index: position of the sentence in its document, from 0.
        heads: position of each word's head, from 1; 0 for the root.
        punctuation: True for each word whose relation is punctuation (`punct`, `punct:...`), `[word]`.
        known: False for a word without pieces, whose vector is meaningless, `[word]`.
        start: row of its first word in each layer's file.
    """

    document: str
    index: int
    heads: tuple[int, ...]
    punctuation: NDArray[np.bool_]
    known: NDArray[np.bool_]
    start: int

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def rows(self) -> slice:
        """The rows of its words."""
        return slice(self.start, self.start + len(self))


class StateStore:
    """Vectors of all words of many sentences: one file per layer, which is memory-mapped, never read whole.

    Vectors are divided by one power of two per layer, so that float16 can hold models whose vectors are large; any
    linear probe compensates for it.

    Args:
        folder: folder for the files; it must exist.
        scales: divisor of each layer's vectors; computed from the first sentence when None. Another corpus for the
            same probe needs the same divisors.

    Attributes:
        sentences: sentences in the order of document ids and positions, whatever order they came in; set by `fill`.
        scales: as above.
        width: width of a vector.
    """

    def __init__(self, folder: Path, *, scales: tuple[float, ...] | None = None) -> None:
        self.folder = folder
        self.scales = scales or ()
        self.width = 0
        self.sentences: list[StoredSentence] = []

    def fill(self, states: Iterable[WordStates]) -> "StateStore":
        """Write every sentence's vectors, and return the store.

        Raises:
            InputError: a segment has no tree in its fields.
            OSError: the disk is full.
        """
        files: list[BinaryIO] = []
        row = 0
        try:
            for state in states:
                if not files:
                    self._begin(state)
                    files = [self._path(layer).open("wb") for layer in range(len(state.vectors))]
                for layer, file in enumerate(files):
                    scaled = np.clip(state.vectors[layer] / self.scales[layer], -_LARGEST, _LARGEST)
                    file.write(scaled.astype(np.float16).tobytes())
                self.sentences.append(_sentence(state, row))
                row += len(state.known)
        finally:
            for file in files:
                file.close()
        self.sentences.sort(key=lambda sentence: (sentence.document, sentence.index))
        return self

    @property
    def layers(self) -> int:
        """Number of layers, including the embeddings."""
        return len(self.scales)

    def layer(self, layer: int) -> NDArray[np.float16]:
        """Map one layer's vectors, `[word, width]`."""
        # A plain array over the map: slices of np.memmap are slow to make.
        mapped = np.asarray(np.memmap(self._path(layer), dtype=np.float16, mode="r"))
        return mapped.reshape(-1, self.width)

    def _begin(self, first: WordStates) -> None:
        self.width = int(first.vectors.shape[2])
        if not self.scales:
            sizes = np.sqrt((first.vectors.astype(np.float64) ** 2).mean(axis=(1, 2)))
            self.scales = tuple(float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0 for size in sizes)

    def _path(self, layer: int) -> Path:
        return self.folder / f"layer-{layer}.f16"


def _sentence(state: WordStates, row: int) -> StoredSentence:
    segment = state.segment
    origin = f"segment {segment.index + 1} of document {segment.document}"
    heads, relations = arcs_of_fields(segment.fields, len(state.known), origin)
    return StoredSentence(
        document=segment.document,
        index=segment.index,
        heads=tuple(heads),
        punctuation=np.array([is_punctuation(name) for name in relations], dtype=bool),
        known=state.known.copy(),
        start=row,
    )


def share_of(document: str, index: int, *, seed: int = 0) -> float:
    """Return a number from 0 to 1 drawn from a sentence's position: a seeded sample that needs no list of sentences."""
    digest = blake2b(f"{seed} {index} {document}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def split_held_out(
    sentences: Iterable[StoredSentence], *, seed: int = 0
) -> tuple[list[StoredSentence], list[StoredSentence]]:
    """Split sentences into train and a held-out tenth, by documents; by sentences where there is one document.

    Args:
        sentences: all sentences.
        seed: seed of the random draw.

    Returns:
        Two lists in the order they came in; the first is empty only where there are fewer than two sentences.
    """
    all_sentences = list(sentences)
    documents = sorted({sentence.document for sentence in all_sentences})
    alone = len(documents) < 2

    def key(sentence: StoredSentence) -> tuple[str, int]:
        return (sentence.document, sentence.index if alone else 0)

    drawn = sorted({key(sentence) for sentence in all_sentences}, key=lambda unit: (share_of(*unit, seed=seed), unit))
    out = set(drawn[: max(1, round(0.1 * len(drawn)))])
    train = [sentence for sentence in all_sentences if key(sentence) not in out]
    return train, [sentence for sentence in all_sentences if key(sentence) in out]
