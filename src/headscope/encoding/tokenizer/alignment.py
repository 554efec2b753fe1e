"""The word of each piece, from character offsets, for any fast tokenizer; and counts of words by number of pieces."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD, shared_words


@dataclass(frozen=True)
class Alignment:
    """The alignment of a text's words with the pieces of a tokenizer.

    Attributes:
        word_ids: word of each piece, `[piece]`; `NO_WORD` for a piece outside words.
        dropped: words without a piece (a tokenizer may delete control characters).
        merged: words that share a piece with the previous word; the piece counts for the first word.
    """

    word_ids: NDArray[np.int64]
    dropped: tuple[int, ...]
    merged: tuple[int, ...]

    @property
    def split(self) -> tuple[int, ...]:
        """Words that were cut into several pieces."""
        words, pieces = np.unique(self.word_ids[self.word_ids != NO_WORD], return_counts=True)
        return tuple(words[pieces > 1].tolist())


def join_words(words: Sequence[str], spaces: Sequence[bool] = ()) -> tuple[str, NDArray[np.int64]]:
    """Join words with the spaces between them; return the text and each word's first character and end, `[word, 2]`.

    Args:
        words: the words; an empty one shares the characters of the previous word.
        spaces: whether a space follows each word, `[word]`; always if empty. No space follows the last word.
    """
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    start = 0
    for word, apart in zip(words, spaces or (True,) * len(words), strict=True):
        spans.append((start, start + len(word)) if word or not spans else spans[-1])
        parts += (word, " ") if apart else (word,)
        start += len(word) + apart
    text = "".join(parts)
    return text[: spans[-1][1]] if spans else text, np.array(spans, dtype=np.int64).reshape(-1, 2)


def align(text: str, spans: NDArray[np.int64], offsets: Sequence[tuple[int, int]]) -> Alignment:
    """Assign each piece to the first word that its characters (except spaces) overlap.

    A piece that is only the space before a word belongs to that word, if the word has pieces.

    Args:
        text: the text that was tokenized.
        spans: first character and end of each word in it, `[word, 2]`, ascending.
        offsets: first character and end of each piece.
    """
    starts, ends = spans[:, 0], spans[:, 1]
    word_ids = np.full(len(offsets), NO_WORD, dtype=np.int64)
    covered = np.zeros(len(spans), dtype=bool)
    merged: set[int] = set()
    for piece, (start, end) in enumerate(offsets):
        # Byte-level tokenizers count the space before a word as part of its first piece.
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start >= end:
            continue
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(starts, end, side="left")) - 1
        if first > last:
            continue
        word_ids[piece] = first
        covered[first : last + 1] = True
        merged.update(range(first + 1, last + 1))
    # Byte-level and SentencePiece tokenizers may split the space from a word whose start they do not know.
    for piece in reversed(range(len(offsets) - 1)):
        (start, end), following = offsets[piece], piece + 1
        if start < end == offsets[following][0] and text[start:end].isspace():
            word_ids[piece] = word_ids[following]
    begins_word = np.zeros(len(spans), dtype=bool)
    begins_word[word_ids[word_ids >= 0]] = True
    return Alignment(
        word_ids=word_ids,
        dropped=tuple(np.flatnonzero(~covered).tolist()),
        merged=tuple(sorted(word for word in merged if not begins_word[word])),
    )


def between_spaces(text: str) -> list[tuple[int, int]]:
    """Return first character and end of each stretch between spaces."""
    return [word.span() for word in re.finditer(r"\S+", text)]


@dataclass(kw_only=True)
class WordCounts:
    """Counts of the words of a corpus with given words.

    Attributes:
        words: all words.
        words_split: words split into several pieces.
        words_dropped: words without a piece.
        words_merged: words that share a piece with another word, and have none of their own.
        words_shared: words that share the pieces of the previous word, as in a multi-word token (`au`).
    """

    words: int = 0
    words_split: int = 0
    words_dropped: int = 0
    words_merged: int = 0
    words_shared: int = 0

    def count_words(self, alignment: Alignment, forms: Sequence[str]) -> None:
        """Count the words of an input by their written forms; they are the first of the aligned words."""
        words = len(forms)
        self.words += words
        shared = shared_words(forms)
        self.words_shared += len(shared)
        for kind in ("split", "dropped", "merged"):
            number = sum(word < words and word not in shared for word in getattr(alignment, kind))
            setattr(self, f"words_{kind}", getattr(self, f"words_{kind}") + number)
