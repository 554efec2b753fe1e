"""How a tokenizer cuts the words of a corpus, counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.encoding.segment import shared_words
from headscope.encoding.tokenizer.alignment import Alignment


@dataclass(kw_only=True)
class WordCounts:
    """Counts of the words of a corpus that gives words.

    Attributes:
        words: all of them.
        words_split: those cut into several pieces.
        words_dropped: those without a piece.
        words_merged: those that share a piece with another word, and have none of their own.
        words_shared: those that share the pieces of the word before them, as a multi-word token (`au`) is written.
    """

    words: int = 0
    words_split: int = 0
    words_dropped: int = 0
    words_merged: int = 0
    words_shared: int = 0

    def count_words(self, alignment: Alignment, forms: Sequence[str]) -> None:
        """Count the words of an input by their written forms: the first of those that were aligned."""
        words = len(forms)
        self.words += words
        shared = shared_words(forms)
        self.words_shared += len(shared)
        for kind in ("split", "dropped", "merged"):
            number = sum(word < words and word not in shared for word in getattr(alignment, kind))
            setattr(self, f"words_{kind}", getattr(self, f"words_{kind}") + number)
