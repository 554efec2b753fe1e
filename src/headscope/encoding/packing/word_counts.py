"""Counts of the words of a corpus, by how a tokenizer splits them."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.encoding.segment import shared_words
from headscope.encoding.tokenizer.alignment import Alignment


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
