"""GAP: the name, out of two, to which each head resolves a pronoun, and the baselines: random, nearest, first.

A name's score is the attention from the pronoun to the name's last word, on either side (a decoder sees only names to
the left, others score 0). The name with the higher score is marked true and the other false; A wins ties. So one name
is marked in every row (GAP's own scorer lets a system mark none or both). Accuracy is the share of rows with a true
name in which that name is marked; F1 counts the names of all rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.coref.sums import WordAccumulator
from headscope.attention.tile import AttentionTile
from headscope.attention.word_rows import WordRows, places_of_words
from headscope.corpora.mentions.gap_rows import GapRow
from headscope.encoding.batching import Batch
from headscope.encoding.document_windows import fitting_words
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment, sent
from headscope.statistics.sums.kept import Declared, counted, summed

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
    """Yield a segment for each usable row, with its `GapQuestion` in `fields["gap"]`; count the others by reason.

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
        a, b = ((name[0] - first, name[1] - first) for name in (row.a, row.b))
        question = GapQuestion(pronoun=row.pronoun - first, a=a, b=b, truth=row.truth, gender=row.gender)
        if not np.isin((question.pronoun, *question.last_words), alignment.word_ids).all():
            counts.lost[NO_PIECE] += 1
            continue
        shortened = len(words) < len(row.words)
        counts.used += 1
        counts.shortened += shortened
        yield encoder.segment(
            pieces, document=row.id, index=0, alignment=alignment, words=words, shortened=shortened,
            fields={FIELD: question},
        )  # fmt: skip


def _stretch(row: GapRow, encoder: Encoder, room: int) -> tuple[int, int]:
    """Return the first word of a row to keep and the word after the last; the same number twice if it does not fit."""
    least, most = min(row.pronoun, row.a[0], row.b[0]), max(row.pronoun + 1, row.a[1], row.b[1])
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
        first, end = (first, end - 1) if end > most else (first + 1, end)
    return (first, end) if first <= least else (end, end)


GAP_MEASURES = ("accuracy", "f1")


@dataclass(frozen=True)
class GapSums:
    """The counts of one kind of attention.

    Attributes:
        kind: `encoder` or `decoder`.
        right: rows in which each head marks a true name, `[group, layer, head, GENDERS]`.
        baselines: the same for each baseline, expected values for `random`, `[group, GAP_BASELINES, GENDERS]`.
        true: rows with a true name, `[group, GENDERS]`.
        rows: all rows, `[group, GENDERS]`.
    """

    kind: str
    right: NDArray[np.int32]
    baselines: NDArray[np.float64]
    true: NDArray[np.int32]
    rows: NDArray[np.int32]

    def ratio(self, right: NDArray[Any], measure: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return numerator and denominator by group, so that a measure is the ratio of their sums.

        F1 is 2 true positives / (names marked true + names that are true): one name is marked in every row.

        Args:
            right: right rows of heads or baselines, `[group, ..., GENDERS]`.
            measure: one of `GAP_MEASURES`.
        """
        true = self.true.astype(np.float64)
        if measure == "accuracy":
            return right.astype(np.float64), true
        return 2 * right.astype(np.float64), true + self.rows


class GapAccumulator(WordAccumulator):
    """Counts, for every head, the rows of GAP in which it marks a true name.

    Segments carry a `GapQuestion` in `fields["gap"]`; those without one are not counted.

    Args:
        layout, pooling: as in `WordAccumulator`.
    """

    def declare(self) -> Declared:
        """Declare the counts of rows, and of those in which each head and each baseline marks a true name."""
        genders = len(GENDERS)
        return {
            "n_rows": counted(genders),
            "n_true": counted(genders),
            "baselines": summed(len(GAP_BASELINES), genders),
            "n_right": counted("layer", "head", genders),
        }

    def begin(self, batch: Batch) -> None:
        """Collect the batch's questions."""
        super().begin(batch)
        self._questions: list[GapQuestion | None] = [segment.fields.get(FIELD) for segment in batch.segments]

    def update(self, tile: AttentionTile) -> None:
        """Compute from one layer which name every head marks."""
        if tile.kind == "cross" or not any(self._questions):
            return
        if tile.kind not in self._rows:
            self._rows[tile.kind] = _locate(tile, self._questions)
        rows, names = self._rows[tile.kind]
        # A segment has one row, or none if a decoder's shift has cut the pronoun off; then both names score 0.
        weights = rows.attention(tile, pooling=self.pooling).sum(2)
        index = names.clamp(min=0)[:, None].expand(-1, weights.shape[1], -1)
        scores = weights.gather(2, index).masked_fill((names < 0)[:, None], 0)
        self._layers[tile.kind].append(scores[..., 1] > scores[..., 0])

    def end(self, batch: Batch) -> None:
        """Add the batch's answers to their rows."""
        for item, (segment, question) in enumerate(zip(batch.segments, self._questions)):
            if question is None:
                continue
            genders = question.genders
            a, b = question.truth
            right = {kind: np.where(handle.array[item], b, a) for kind, handle in self._answers.items()}
            self.sums.add(
                segment.document,
                n_rows=genders,
                n_true=genders * int(a or b),
                baselines=question.baselines()[:, None] * genders,
                **{f"n_right.{kind}": marks[..., None] * genders for kind, marks in right.items()},
            )
        self._rows = {}

    def compute(self) -> tuple[GapSums, ...]:
        """Return the counts by group of rows."""
        stacked = self.sums.stacked()
        numbers = stacked["baselines"], stacked["n_true"], stacked["n_rows"]
        return tuple(GapSums(part.kind, stacked[f"n_right.{part.kind}"], *numbers) for part in self.layout)


def _locate(tile: AttentionTile, questions: Sequence[GapQuestion | None]) -> tuple[WordRows, Tensor]:
    """Find the pronouns' rows, and the key indices of the names' last words, -1 for none, `[batch, 2]`."""
    last = np.full((len(questions), 2), -1, dtype=np.int64)
    pronouns = np.zeros(len(questions), dtype=np.int64)
    for item, question in enumerate(questions):
        if question is not None:
            pronouns[item] = question.pronoun
            last[item] = question.last_words
    number = int(max(pronouns.max(), last.max())) + 1
    rows = WordRows.of(tile, torch.from_numpy(pronouns[:, None] == np.arange(number)))
    names = torch.from_numpy(last)
    positions = places_of_words(rows.keys.on_host, number).gather(1, names.clamp(min=0))
    return rows, sent(positions.masked_fill(names < 0, -1), rows.rows.device)
