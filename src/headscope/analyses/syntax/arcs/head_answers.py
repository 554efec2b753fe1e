"""From attention between words to answers: the word that each word attends to most, and whether it is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.analyses.syntax.arcs.batch_arcs import BatchArcs


@dataclass(frozen=True, eq=False)
class Answers:
    """The answer of every word of a batch in one direction, in some layers.

    Attributes:
        best: the most weight on a candidate, `[batch, word, layer, head]`.
        position: the candidate that has it, the leftmost of equals, `[batch, word, layer, head]`.
        special: weight on each special token, `[batch, word, special, layer, head]`; -1 where there is none.
    """

    best: Tensor
    position: Tensor
    special: Tensor

    @classmethod
    def of(cls, table: Tensor, allowed: Tensor, batch_arcs: BatchArcs, *, column: bool = False) -> "Answers":
        """Read the answers off one layer.

        Args:
            table: weight between words, `[batch, word, head, word]`.
            allowed: the same weights, with pairs that are no candidates below every weight.
            batch_arcs: the batch's arcs.
            column: whether a word's answer is sought among those that attend to it, in its column.
        """
        # torch promises the first of equals.
        best, position = allowed.max(1 if column else 3)
        items = torch.arange(len(table), device=table.device)[:, None]
        at = batch_arcs.special.clamp(min=0)
        # Rows of the special tokens or, where they are attended to, their columns.
        lines = (table if column else table.transpose(1, 3))[items, at]
        weight = lines.permute(0, 3, 1, 2)
        if column:
            best, position = best.transpose(1, 2), position.transpose(1, 2)
        weight = weight.masked_fill((batch_arcs.special < 0)[:, None, :, None], -1.0)
        return cls(best[:, :, None], position[:, :, None], weight[:, :, :, None])

    @classmethod
    def of_layers(cls, layers: Sequence["Answers"]) -> "Answers":
        """Join the answers of layers, in their order."""
        return cls(
            torch.cat([each.best for each in layers], dim=2),
            torch.cat([each.position for each in layers], dim=2),
            torch.cat([each.special for each in layers], dim=3),
        )

    def right(
        self, batch_arcs: BatchArcs, dependent: Tensor, gold: Tensor, *, self_counts: bool
    ) -> tuple[Tensor, Tensor]:
        """Say for which arcs the dependent's answer is the gold head.

        Args:
            batch_arcs: the batch's arcs.
            dependent: position of the word whose answer is scored, `[arc]`.
            gold: position of the right answer, `[arc]`.
            self_counts: whether weight 0 is an answer.

        Returns:
            Whether the answer is right, and whether a special token has more weight than it or as much and stands
            left of the gold one; both `[arc, layer, head]`.
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
    """Read one layer's answers in each direction: dependent->head, head->dependent, and their sum where `both` is set.

    Args:
        weights: attention between words, `[batch, head, query word, key word]`.
        batch_arcs: the batch's arcs.
        both: whether to answer by the sum of the two directions too.
        compat: whether a word may point at itself where it attends to no other word, as in the notebook.
    """
    # [batch, query word, head, key word], as `between_words` lays it out: no copy is made of it.
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
        answers: of each direction, see `read_answers`.
        batch_arcs: the batch's arcs.
        special: whether special tokens are candidates.
        compat: the notebook's choices: a word may point at itself where it attends to no other word, and the
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
    """Return a table `[batch, word, head, word]` in which pairs that are no candidates lie below every weight."""
    # Adding is several times faster than filling under a mask; weights, and sums of two, are at most 2.
    allowed = table - 4.0 * batch_arcs.barred[:, :, None].to(table.dtype)
    if self_counts:
        item, position = batch_arcs.itself
        allowed[item, position, :, position] = 0.0
    return allowed
