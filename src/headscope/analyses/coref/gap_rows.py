"""Rows of GAP as model inputs, and the baselines without attention: random, nearest, first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.corpora.mentions.gap_rows import GapRow
from headscope.encoding.document_windows import fitting_words
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment

FIELD = "gap"
GENDERS = ("all", "masculine", "feminine")
GAP_BASELINES = ("random", "nearest", "first")
TOO_LONG, NO_PIECE = "pronoun and names do not fit", "pronoun or name has no piece"


@dataclass(frozen=True, kw_only=True)
class GapQuestion:
    """A pronoun and two names in a segment; positions count its words from 0.

    Attributes:
        pronoun: the pronoun.
        a, b: first word of each name, and the word after its last.
        truth: True if the pronoun refers to a, and True if it refers to b; at most one of them.
        gender: gender of the pronoun, `masculine` or `feminine`.
    """

    pronoun: int
    a: tuple[int, int]
    b: tuple[int, int]
    truth: tuple[bool, bool]
    gender: str

    @property
    def last_words(self) -> tuple[int, int]:
        """The last word of each name; attention to the name is attention to this word."""
        return self.a[1] - 1, self.b[1] - 1

    @property
    def genders(self) -> NDArray[np.int32]:
        """The genders under which the row is counted, `[GENDERS]` of 0 and 1."""
        return np.array([name in ("all", self.gender) for name in GENDERS], dtype=np.int32)

    def baselines(self) -> NDArray[np.float64]:
        """Return the probability that each baseline marks a true name, `[GAP_BASELINES]`.

        `random`: 0.5 on a row with a true name, the expected value of a fair coin. `nearest`: the name with the
        fewest words between it and the pronoun, on either side. `first`: the name that comes first. A wins ties.
        """
        between = [
            self.pronoun - name[1] if name[0] <= self.pronoun else name[0] - self.pronoun - 1
            for name in (self.a, self.b)
        ]
        nearest, first = int(between[1] < between[0]), int(self.b[0] < self.a[0])
        return np.array([sum(self.truth) / 2, self.truth[nearest], self.truth[first]], dtype=np.float64)


@dataclass
class GapCounts:
    """Counts of the rows used and lost; filled while `gap_segments` runs.

    Attributes:
        rows: number of rows read.
        used: number of rows made into segments.
        shortened: number of used rows from which words were cut.
        lost: number of rows left out, by reason.
    """

    rows: int = 0
    used: int = 0
    shortened: int = 0
    lost: Counter[str] = field(default_factory=Counter)


def gap_segments(
    rows: Iterable[GapRow], encoder: Encoder, *, max_length: int, counts: GapCounts | None = None
) -> Iterator[Segment]:
    """Yield each row as a segment, with its `GapQuestion` in `fields["gap"]`.

    A row that is too long is shortened: first the end of its text, as much as pronoun and names allow, then its
    beginning.

    Args:
        rows: rows from `corpora.mentions.gap_rows`.
        encoder: wrapper of the tokenizer.
        max_length: largest number of tokens in a segment, including special tokens.
        counts: counts to fill.
    """
    counts = GapCounts() if counts is None else counts
    room = max_length - encoder.special_tokens_single
    for row in rows:
        counts.rows += 1
        first, end = _stretch(row, encoder, room)
        if first == end:
            counts.lost[TOO_LONG] += 1
            continue
        words = row.words[first:end]
        pieces, alignment = encoder.piece_words(words, row.spaces[first:end])
        question = GapQuestion(
            pronoun=row.pronoun - first,
            a=(row.a[0] - first, row.a[1] - first),
            b=(row.b[0] - first, row.b[1] - first),
            truth=row.truth,
            gender=row.gender,
        )
        if not np.isin((question.pronoun, *question.last_words), alignment.word_ids).all():
            counts.lost[NO_PIECE] += 1
            continue
        shortened = len(words) < len(row.words)
        counts.used += 1
        counts.shortened += shortened
        yield encoder.segment(
            pieces,
            document=row.id,
            index=0,
            alignment=alignment,
            words=words,
            shortened=shortened,
            fields={FIELD: question},
        )


def _stretch(row: GapRow, encoder: Encoder, room: int) -> tuple[int, int]:
    """Return the first word of a row to keep and the word after the last; the same number twice if it does not fit."""
    spans = ((row.pronoun, row.pronoun + 1), row.a, row.b)
    least, most = min(span[0] for span in spans), max(span[1] for span in spans)
    pieces, alignment = encoder.piece_words(row.words, row.spaces)
    if len(pieces) <= room:
        return 0, len(row.words)
    first, end = 0, fitting_words(row.words, 0, encoder, room, row.spaces)
    if end < most:
        word_ids = alignment.word_ids[alignment.word_ids != NO_WORD]
        per_word = np.bincount(word_ids, minlength=len(row.words))[:most]
        first, end = int((per_word[::-1].cumsum()[::-1] > room).sum()), most
    # Tokenized alone, the stretch may have more pieces than within the text.
    while len(encoder.piece_words(row.words[first:end], row.spaces[first:end])[0]) > room:
        if end > most:
            end -= 1
        else:
            first += 1
    return (first, end) if first <= least else (end, end)
