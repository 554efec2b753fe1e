"""GAP: the name, out of two, to which each head resolves a pronoun.

A name's score is the attention from the pronoun to the name's last word, on either side (a decoder sees only names to
the left, others score 0). The name with the higher score is marked true and the other false; the first wins a tie. So
one name is marked in every row: accuracy is the share of rows with a true name in which that name is marked; F1 counts
every name of every row, whereas GAP's own scorer lets a system mark none or both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.coref.gap_rows import FIELD, GAP_BASELINES, GENDERS, GapQuestion
from headscope.analyses.coref.sums import WordAccumulator
from headscope.attention.tile import AttentionTile
from headscope.attention.word_rows import WordRows, places_of_words
from headscope.encoding.batching import Batch
from headscope.encoding.segment import sent
from headscope.statistics.sums.kept import Declared, counted, summed

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

        Raises:
            ValueError: the measure is not known.
        """
        if measure not in GAP_MEASURES:
            raise ValueError(f"measure {measure!r} is not known; choose one of {', '.join(GAP_MEASURES)}")
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
        marks_by_kind = {kind: handle.array for kind, handle in self._answers.items()}
        for item, (segment, question) in enumerate(zip(batch.segments, self._questions)):
            if question is None:
                continue
            genders = question.genders
            a, b = question.truth
            right = {f"n_right.{kind}": np.where(marks[item], b, a) for kind, marks in marks_by_kind.items()}
            self.sums.add(
                segment.document,
                n_rows=genders,
                n_true=genders * int(a or b),
                baselines=question.baselines()[:, None] * genders,
                **{name: value[..., None] * genders for name, value in right.items()},
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
