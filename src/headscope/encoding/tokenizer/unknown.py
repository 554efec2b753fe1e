"""The share of a corpus that its tokenizer knows: results on pieces that are all unknown say nothing about the text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from headscope.encoding.segment import Segment
from headscope.errors import InputError
from headscope.visible import count

if TYPE_CHECKING:
    from headscope.encoding.encoder import Encoder

WORTH_A_NOTE, TOO_MUCH = 0.2, 0.9
EARLY = 300
"""Number of segments after which a corpus of unknown pieces is refused, however long it is."""
_MARK = "\u2581"
_SAMPLE = 2000  # characters of the text, to find the cause


class KnownPieces:
    """Count the unknown pieces of one corpus as its segments pass, and refuse a corpus of mostly unknown pieces.

    Args:
        encoder: encoder that made the segments.
        what: name of the corpus in messages: `text`, `treebank` ...

    Attributes:
        segments: number of segments that passed.
        pieces: number of their pieces, without special tokens and bare marks of a word's start.
        unknown: number of these pieces that represent unknown text.
        first_written: number of segments whose text begins with the tokenizer's first tokens as written.
    """

    def __init__(self, encoder: "Encoder", what: str) -> None:
        self.encoder, self.what = encoder, what
        self.segments = self.pieces = self.unknown = self.first_written = 0
        self._sample = ""
        # SentencePiece's mark of a word's start is a separate piece before an unknown piece, and says nothing about the
        # text.
        mark = encoder.tokenizer.convert_tokens_to_ids(_MARK)
        empty = {mark, *encoder.tokenizer.all_special_ids} - {encoder.unknown_id, None}
        self._empty = np.array(sorted(empty), dtype=np.int64)

    def watch(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        """Yield segments as they come, and count them.

        Raises:
            InputError: 9 of 10 pieces are unknown, in the first 300 segments or in all of them.
        """
        yield from self.early(segments)
        self.check()

    def early(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        """Yield some of the segments as they come, and count them; others follow.

        Raises:
            InputError: 9 of 10 pieces of the first 300 segments are unknown.
        """
        for segment in segments:
            self.add(segment)
            if self.segments == EARLY:
                self.check()
            yield segment

    def add(self, segment: Segment) -> None:
        """Count a segment that the encoder has just made."""
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
        """Fraction of pieces that are unknown."""
        return self.unknown / self.pieces if self.pieces else 0.0

    def check(self) -> None:
        """Refuse a corpus whose text is almost entirely unknown to the tokenizer.

        Raises:
            InputError: too many pieces are unknown; gives their share, and the likely cause.
        """
        if self.share >= TOO_MUCH:
            raise InputError(
                f"the model's tokenizer does not know the {self.what}: {self._count()}; {self._cause()}; give a model "
                "whose tokenizer knows it"
            )

    def note(self) -> str | None:
        """Return a message for the user if many pieces are unknown, else None."""
        if self.share < WORTH_A_NOTE:
            return None
        return f"{self.what}: {self._count()}, so that numbers say little of it; {self._cause()}"

    def notes(self) -> list[str]:
        """Return messages for the user: many pieces are unknown, or first tokens in the text are read only once."""
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
        """Return the likely cause: the case of the text, if another case is known better; else the vocabulary."""
        for changed, cause in (
            (self._sample.lower(), "its vocabulary is lower-case (use its own lower-casing, without --cased)"),
            (self._sample.upper(), "its vocabulary is upper-case"),
        ):
            (pieces,) = self.encoder.pieces([changed])
            unknown = sum(piece == self.encoder.unknown_id for piece in pieces.ids)
            if unknown / max(1, len(pieces)) < self.share / 2:
                return f"likely {cause}"
        return "likely its vocabulary is of another language or script, or not this model's own"
