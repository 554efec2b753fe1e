"""How much of a corpus its tokenizer knows: numbers of pieces that all stand for unknown say nothing of the text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from headscope.counted import count
from headscope.encoding.segment import Segment
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.encoding.encoder import Encoder

WORTH_A_NOTE, TOO_MUCH = 0.2, 0.9
EARLY = 300
"""Segments after which a corpus that is unknown is refused, however long it goes on."""
_MARK = "\u2581"
_SAMPLE = 2000  # letters of it, to find out why


class KnownPieces:
    """Counts the unknown pieces of one corpus as its segments pass, and refuses what is all but unknown.

    Args:
        encoder: which made the segments.
        what: the corpus, for people: `text`, `treebank` ...

    Attributes:
        segments: segments that passed.
        pieces: their pieces, special tokens and bare marks of a word's start left out.
        unknown: those of them that stand for unknown text.
        first_written: segments whose text begins with the tokenizer's first tokens as written.
    """

    def __init__(self, encoder: "Encoder", what: str) -> None:
        self.encoder, self.what = encoder, what
        self.segments = self.pieces = self.unknown = self.first_written = 0
        self._sample = ""
        # SentencePiece's mark of a word's start stands alone before what is unknown, and says as little.
        mark = encoder.tokenizer.convert_tokens_to_ids(_MARK)
        empty = {mark, *encoder.tokenizer.all_special_ids} - {encoder.unknown_id, None}
        self._empty = np.array(sorted(empty), dtype=np.int64)

    def watch(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        """Yield segments as they come, counted.

        Raises:
            InputError: 9 of 10 pieces are unknown: of the first 300 segments, or of all.
        """
        yield from self.early(segments)
        self.check()

    def early(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        """Yield some of the segments as they come, counted; others follow.

        Raises:
            InputError: 9 of 10 pieces of the first 300 segments are unknown.
        """
        for segment in segments:
            self.add(segment)
            if self.segments == EARLY:
                self.check()
            yield segment

    def add(self, segment: Segment) -> None:
        """Count a segment that the encoder just made."""
        self.segments += 1
        self.first_written += segment.first_written
        if self.encoder.unknown_id is None:
            return
        unknown = int((segment.ids == self.encoder.unknown_id).sum())
        self.unknown += unknown
        self.pieces += int(np.isin(segment.ids, self._empty, invert=True).sum())
        if unknown and len(self._sample) < _SAMPLE:
            self._sample += " ".join(self.encoder.latest[:20])[:_SAMPLE] + " "

    @property
    def share(self) -> float:
        """Unknown pieces of all, as a fraction."""
        return self.unknown / self.pieces if self.pieces else 0.0

    def check(self) -> None:
        """Refuse a corpus of which the tokenizer knows next to nothing.

        Raises:
            InputError: says how much, and the likely cause.
        """
        if self.share >= TOO_MUCH:
            raise InputError(
                f"the model's tokenizer does not know the {self.what}: {self._count()}; {self._cause()}; give a model "
                "whose tokenizer knows it"
            )

    def note(self) -> str | None:
        """Return a sentence for the user where much is unknown, else None."""
        if self.share < WORTH_A_NOTE:
            return None
        return f"{self.what}: {self._count()}, so that numbers say little of it; {self._cause()}"

    def notes(self) -> list[str]:
        """Return sentences for the user: much is unknown, or first tokens that are written are read once."""
        return list(filter(None, [self.note(), self._first_note()]))

    def _first_note(self) -> str | None:
        if not self.first_written:
            return None
        names = self.encoder.tokenizer.convert_ids_to_tokens(list(self.encoder.first_tokens))
        begin = "begins" if self.first_written == 1 else "begin"
        return (
            f"{self.what}: {count(self.first_written, 'input')} {begin} with {''.join(map(str, names))} as written, "
            "which the tokenizer adds as well; it is read once"
        )

    def _count(self) -> str:
        name = self.encoder.tokenizer.convert_ids_to_tokens(self.encoder.unknown_id)
        return f"{self.unknown:,} of {self.pieces:,} pieces ({self.share:.0%}) are {name}, unknown"

    def _cause(self) -> str:
        """Try what mends it: other case, else it is the vocabulary."""
        for changed, cause in (
            (self._sample.lower(), "its vocabulary is lower-case (use its own lower-casing, without --cased)"),
            (self._sample.upper(), "its vocabulary is upper-case"),
        ):
            (pieces,) = self.encoder.pieces([changed])
            unknown = sum(piece == self.encoder.unknown_id for piece in pieces.ids)
            if unknown / max(1, len(pieces)) < self.share / 2:
                return f"likely {cause}"
        return "likely its vocabulary is of another language or script, or not this model's own"
