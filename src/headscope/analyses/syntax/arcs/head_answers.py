"""From attention between words to answers: the word to which each word attends most, and whether it is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.analyses.syntax.arcs.batch_arcs import BatchArcs


@dataclass(frozen=True, eq=False)
class Answers:
    """The answer of every word of a batch in one direction, in some layers.

    Attributes:
        best: largest weight on a candidate, `[batch, word, layer, head]`.
        position: position of that candidate, the leftmost in a tie, `[batch, word, layer, head]`.
        special: weight on each special token, `[batch, word, special, layer, head]`; -1 where there is none.
    """

    best: Tensor
    position: Tensor
    special: Tensor

    @classmethod
    def of(cls, table: Tensor, allowed: Tensor, batch_arcs: BatchArcs, *, column: bool = False) -> "Answers":
        """Read the answers from one layer.

        Args:
            table: weight between words, `[batch, word, head, word]`.
            allowed: the same weights, with pairs that are not candidates below every weight.
            batch_arcs: the batch's arcs.
            column: True to search a word's answer among the words that attend to it, in its column.
        """
        # torch guarantees the first index in a tie.
        best, position = allowed.max(1 if column else 3)
        items = torch.arange(len(table), device=table.device)[:, None]
        at = batch_arcs.special.clamp(min=0)
        # Rows of the special tokens or, if they are the attended tokens, their columns.
        lines = (table if column else table.transpose(1, 3))[items, at]
        weight = lines.permute(0, 3, 1, 2)
        if column:
            best, position = best.transpose(1, 2), position.transpose(1, 2)
        weight = weight.masked_fill((batch_arcs.special < 0)[:, None, :, None], -1.0)
        return cls(best[:, :, None], position[:, :, None], weight[:, :, :, None])

    @classmethod
    def of_layers(cls, layers: Sequence["Answers"]) -> "Answers":
        """Concatenate the answers of layers, in their order."""
        return cls(
            torch.cat([each.best for each in layers], dim=2),
            torch.cat([each.position for each in layers], dim=2),
            torch.cat([each.special for each in layers], dim=3),
        )

    def right(
        self, batch_arcs: BatchArcs, dependent: Tensor, gold: Tensor, *, self_counts: bool
    ) -> tuple[Tensor, Tensor]:
        """Mark the arcs for which the dependent's answer is the gold head.

        Args:
            batch_arcs: the batch's arcs.
            dependent: position of the word whose answer is scored, `[arc]`.
            gold: position of the right answer, `[arc]`.
            self_counts: True if weight 0 counts as an answer.

        Returns:
            True where the answer is right, and True where a special token has more weight than the answer, or the same
            weight and a position left of the gold head; both `[arc, layer, head]`.
        """
        at = batch_arcs.rows, dependent.clamp(min=0)
        best = self.best[at]
        is_known = ((dependent >= 0) & (gold >= 0))[:, None, None]
        right = (self.position[at] == gold[:, None, None]) & is_known & (best >= 0 if self_counts else best > 0)
        rivals = self.special[at]
        left = (batch_arcs.special[batch_arcs.rows] < gold[:, None])[:, :, None, None]
        beaten = ((rivals > best[:, None]) | ((rivals == best[:, None]) & left)).any(1)
        return right, beaten


def read_answers(
    weights: Tensor, batch_arcs: BatchArcs, *, both: bool = False, compat: bool = False
) -> tuple[Answers, ...]:
    """Return one layer's answers in each direction: dependent->head, head->dependent, and with `both` their sum.

    Args:
        weights: attention between words, `[batch, head, query word, key word]`.
        batch_arcs: the batch's arcs.
        both: True to add answers from the sum of the two directions.
        compat: True if a word that attends to no other word may point at itself, as in the notebook.
    """
    # [batch, query word, head, key word], the memory layout of `between_words`, so no copy is made.
    table = weights.transpose(1, 2)
    # One table of candidates serves both directions, because a pair is barred in both or in neither.
    allowed = _candidates_only(table, batch_arcs, self_counts=compat)
    answers = [Answers.of(table, allowed, batch_arcs), Answers.of(table, allowed, batch_arcs, column=True)]
    if both:
        total = table + table.permute(0, 3, 2, 1)
        answers.append(Answers.of(total, _candidates_only(total, batch_arcs, self_counts=compat), batch_arcs))
    return tuple(answers)


def judge(
    answers: Sequence[Answers], batch_arcs: BatchArcs, *, special: bool = False, compat: bool = False
) -> tuple[Tensor, Tensor]:
    """Compare every head's answers with the gold arcs.

    Args:
        answers: answers in each direction, see `read_answers`.
        batch_arcs: the batch's arcs.
        special: True if special tokens are candidates.
        compat: True for the notebook's choices: a word that attends to no other word may point at itself, and the
            `poss` rule holds unless a word's own answer is the last word.

    Returns:
        `hits` bool `[arc, layer, head, direction]`; `other`, the same with special tokens treated the other way.
    """
    hits, other = [], []
    for each in answers:
        right, beaten = each.right(batch_arcs, batch_arcs.dependent, batch_arcs.gold, self_counts=compat)
        if compat:
            word_right, word_beaten = each.right(batch_arcs, batch_arcs.word, batch_arcs.gold, self_counts=True)
            stays, _ = each.right(batch_arcs, batch_arcs.word, batch_arcs.last, self_counts=True)
            right, beaten = torch.where(stays, word_right, right), torch.where(stays, word_beaten, beaten)
        hits.append(right & ~beaten if special else right)
        other.append(right if special else right & ~beaten)
    return torch.stack(hits, dim=3), torch.stack(other, dim=3)


def _candidates_only(table: Tensor, batch_arcs: BatchArcs, *, self_counts: bool) -> Tensor:
    """Return a table `[batch, word, head, word]` with all pairs that are not candidates below every weight."""
    # Addition is several times faster than a masked fill; weights, and sums of two, are at most 2.
    allowed = table - 4.0 * batch_arcs.barred[:, :, None].to(table.dtype)
    if self_counts:
        item, position = batch_arcs.itself
        allowed[item, position, :, position] = 0.0
    return allowed
