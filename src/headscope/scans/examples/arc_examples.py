"""Figure 5: for the best head of each relation, or of coreference, clear examples of success and a failure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import WordAxis, axis_of, between_words
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.token_names import SPECIAL_NAMES
from headscope.scans.examples.example_tables import ARC_EXAMPLES

FEWEST_WORDS, MOST_WORDS = 6, 20
RIGHT, WRONG = 2, 1
_KEPT = 24  # candidates kept of each outcome, because documents may repeat among the top ones


@dataclass(frozen=True)
class WantedHead:
    """A head to draw, with the relation that it finds and the direction of its attention."""

    relation: str
    kind: str
    layer: int
    head: int
    direction: str


@dataclass(frozen=True)
class ArcQuestion:
    """A question to a head about a segment; words are 0-based.

    Attributes:
        word: the dependent (the clitic in place of a possessor), or the mention's head word.
        gold: right answers.
        candidates: words that are possible answers; all words except `word` when None.
    """

    word: int
    gold: tuple[int, ...]
    candidates: tuple[int, ...] | None = None


Ask = Callable[[WantedHead, Segment], list[ArcQuestion]]


def wanted_heads(best: pd.DataFrame) -> list[WantedHead]:
    """Return the heads to draw: those of the first selection of a table of best heads."""
    return [
        WantedHead(row["relation"], row["kind"], int(row["layer"]), int(row["head"]), row["direction"])
        for row in first_selection(best).to_dict("records")
        if row["relation"] not in ("all", "all_but_punct_root") and row["direction"] != "both"
    ]


def first_selection(best: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first selection of a table of best heads: held-out, where there is one."""
    return best[best["selection"] == best["selection"].iloc[0]] if len(best) else best


class ArcExamples:
    """Keeps the clearest segments of each wanted head (a scan consumer, for short segments).

    A segment is a success if every answer is right, and its score is the weight on the right words. The score of a
    failure is the largest weight on a wrong word.

    Args:
        wanted: heads, one for each relation.
        ask: function that returns the questions about a segment.
        special: names to show for the special tokens before and after the words.
        pooling: pooling of the rows of a split word.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[str] = "layer"

    def __init__(
        self, wanted: Sequence[WantedHead], ask: Ask, *, special: tuple[str, str] = SPECIAL_NAMES, pooling: str = "mean"
    ) -> None:
        self.wanted, self.ask = list(wanted), ask
        self.special, self.pooling = special, pooling
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._axes: dict[str, WordAxis] = {}
        self._batch: Batch | None = None

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._batch, self._axes = batch, {}

    def update(self, tile: AttentionTile) -> None:
        """Add the examples of the wanted heads of a layer."""
        wanted_of_layer = [w for w in self.wanted if (w.kind, w.layer - 1) == (tile.kind, tile.layer)]
        if not wanted_of_layer or self._batch is None:
            return
        if tile.kind not in self._axes:
            self._axes[tile.kind] = axis_of(tile.queries)
        axis = self._axes[tile.kind]
        heads = torch.tensor([wanted.head - 1 for wanted in wanted_of_layer], device=tile.weights.device)
        between = between_words(tile.weights[:, heads], axis, axis, pooling=self.pooling)
        tables = between.float().cpu().numpy()
        for item, segment in enumerate(self._batch.segments):
            if not FEWEST_WORDS <= len(segment.words) <= MOST_WORDS:
                continue
            words = axis.words[item][axis.valid[item]].cpu().numpy()
            for index, wanted in enumerate(wanted_of_layer):
                questions = self.ask(wanted, segment)
                if questions:
                    weights = tables[item, index][: len(words), : len(words)]
                    self._add(wanted, segment, words, weights, questions)

    def end(self, batch: Batch) -> None:
        """Close the batch."""
        self._batch = None

    def table(self) -> pd.DataFrame:
        """Return up to two successes and one failure per relation, from different documents; weights are row-major."""
        rows = []
        for wanted in self.wanted:
            used: set[str] = set()
            for outcome, most in (("right", RIGHT), ("wrong", WRONG)):
                number = 0
                for row in self._rows.get((wanted.relation, outcome), []):
                    if number < most and row["document"] not in used:
                        used.add(row["document"])
                        rows.append({name: row[name] for name in ARC_EXAMPLES.names})
                        number += 1
        return pd.DataFrame(rows, columns=ARC_EXAMPLES.names)

    def _add(
        self,
        wanted: WantedHead,
        segment: Segment,
        words: NDArray[np.int64],
        weights: NDArray[np.float32],
        questions: Sequence[ArcQuestion],
    ) -> None:
        dependent_attends = wanted.direction != "head->dependent"
        table = weights if dependent_attends else weights.T
        answers = _answers(questions, words, table)
        if not answers:
            return
        dependents, targets, predicted = (list(column) for column in zip(*answers, strict=True))
        value = float(np.mean(table[dependents, targets]))
        wrong = [float(table[a, p]) for a, g, p in answers if g != p]
        outcome, clear = ("wrong", max(wrong)) if wrong else ("right", value)
        rows = self._rows.setdefault((wanted.relation, outcome), [])
        rows.append(
            {
                **vars(wanted),
                "outcome": outcome,
                "value": value,
                "document": segment.document,
                "segment": segment.index,
                "tokens": self._names(segment.words, words),
                "weights": weights.astype(np.float64).reshape(-1).tolist(),
                "queries": dependents if dependent_attends else targets,
                "keys": targets if dependent_attends else dependents,
                "predicted": predicted,
                # Ties are broken by document and segment, not by the order of the corpus.
                "order": (-round(clear, 6), segment.document, segment.index),
            }
        )
        rows.sort(key=lambda row: row["order"])
        del rows[_KEPT:]

    def _names(self, names: Sequence[str], words: NDArray[np.int64]) -> list[str]:
        """Return the names of a segment's positions: its words, and the special tokens before and after them."""
        first = int(np.flatnonzero(words != NO_WORD)[0])
        before, after = self.special
        return [
            names[word] if word != NO_WORD else before if position < first else after
            for position, word in enumerate(words.tolist())
        ]


def _answers(
    questions: Sequence[ArcQuestion], words: NDArray[np.int64], table: NDArray[np.float32]
) -> list[tuple[int, int, int]]:
    """Return the positions of (the word of the question, the right word to show, the answer).

    Words without a position are left out. The list is empty if a word has no answer because no candidate is visible.
    """
    positions = {int(word): position for position, word in enumerate(words) if word != NO_WORD}
    answers = []
    for question in questions:
        gold = [positions[word] for word in question.gold if word in positions]
        if question.word not in positions or not gold:
            continue
        question_position = positions[question.word]
        allowed = positions if question.candidates is None else question.candidates
        candidates = [positions[word] for word in allowed if word in positions and positions[word] != question_position]
        answer = max(
            candidates, key=lambda position: (table[question_position, position], -position), default=question_position
        )
        if answer == question_position or not table[question_position, answer]:
            return []
        target = answer if answer in gold else max(gold, key=lambda position: table[question_position, position])
        answers.append((question_position, target, answer))
    return answers
