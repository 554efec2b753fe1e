"""How a tokenizer cuts the words of a corpus, counted."""

from dataclasses import dataclass

from headscope.encoding.tokenizer.alignment import Alignment


@dataclass(kw_only=True)
class WordCounts:
    """Counts of the words of a corpus that gives words.

    Attributes:
        words: all of them.
        words_split: those cut into several pieces.
        words_dropped: those without a piece.
        words_merged: those that share a piece with another word, and have none of their own.
    """

    words: int = 0
    words_split: int = 0
    words_dropped: int = 0
    words_merged: int = 0

    def count_words(self, alignment: Alignment, words: int) -> None:
        """Count the words of an input: the first so many of those that were aligned."""
        self.words += words
        for kind in ("split", "dropped", "merged"):
            number = sum(word < words for word in getattr(alignment, kind))
            setattr(self, f"words_{kind}", getattr(self, f"words_{kind}") + number)
