"""From attention between words to answers: which word each word points at, and whether that is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.analyses.syntax.batch_arcs import Pointer


@dataclass(frozen=True, eq=False)
class Answers:
    """Which place every place of a batch points at in one direction, in some layers.

    Attributes:
        best: the most weight on a candidate, `[batch, place, layer, head]`.
        place: the candidate that has it, the leftmost of equals, `[batch, place, layer, head]`.
        special: weight on each special token, `[batch, place, special, layer, head]`; -1 where there is none.
    """

    best: Tensor
    place: Tensor
    special: Tensor

    @classmethod
    def of(cls, table: Tensor, allowed: Tensor, pointer: Pointer, *, column: bool = False) -> "Answers":
        """Read the answers off one layer.

        Args:
            table: weight between places, `[batch, place, head, place]`.
            allowed: the same with what is no candidate below every weight.
            pointer: the batch's arcs.
            column: whether a word's answer is sought among those that attend to it, in its column.
        """
        # torch promises the first of equals.
        best, place = allowed.max(1 if column else 3)
        items = torch.arange(len(table), device=table.device)[:, None]
        at = pointer.special.clamp(min=0)
        # Rows of the special tokens or, where they are attended to, their columns.
        lines = (table if column else table.transpose(1, 3))[items, at]
        weight = lines.permute(0, 3, 1, 2)
        if column:
            best, place = best.transpose(1, 2), place.transpose(1, 2)
        weight = weight.masked_fill((pointer.special < 0)[:, None, :, None], -1.0)
        return cls(best[:, :, None], place[:, :, None], weight[:, :, :, None])

    @classmethod
    def of_layers(cls, layers: Sequence["Answers"]) -> "Answers":
        """Join the answers of layers, in their order."""
        return cls(
            torch.cat([each.best for each in layers], dim=2),
            torch.cat([each.place for each in layers], dim=2),
            torch.cat([each.special for each in layers], dim=3),
        )

    def right(
        self, pointer: Pointer, asked: Tensor, gold: Tensor, *, self_counts: bool
    ) -> tuple[Tensor, Tensor]:
        """Say where the asked word's answer is the gold one.

        Args:
            pointer: the batch's arcs.
            asked: whose answer is looked at, `[arc]`.
            gold: what is right, `[arc]`.
            self_counts: whether weight 0 is an answer.

        Returns:
            Whether the answer is right, and whether a special token has more weight than it or as much and stands
            left of the gold one; both `[arc, layer, head]`.
        """
        at = pointer.rows, asked.clamp(min=0)
        best = self.best[at]
        known = ((asked >= 0) & (gold >= 0))[:, None, None]
        right = (self.place[at] == gold[:, None, None]) & known & (best >= 0 if self_counts else best > 0)
        rivals = self.special[at]
        left = (pointer.special[pointer.rows] < gold[:, None])[:, :, None, None]
        beaten = ((rivals > best[:, None]) | ((rivals == best[:, None]) & left)).any(1)
        return right, beaten


def read_answers(
    weights: Tensor, pointer: Pointer, *, both: bool = False, compat: bool = False
) -> tuple[Answers, ...]:
    """Read one layer's answers in each direction: dependent->head, head->dependent, and both where asked for.

    Args:
        weights: attention between words, `[batch, head, query place, key place]`.
        pointer: the batch's arcs.
        both: whether to answer by the sum of the two directions too.
        compat: whether a word may point at itself where it attends to no other word, as in the notebook.
    """
    # [batch, query place, head, key place], as `between_words` lays it out: no copy is made of it.
    table = weights.transpose(1, 2)
    # One table without what is no candidate serves both directions: a barred pair is barred both ways.
    allowed = _candidates_only(table, pointer, self_counts=compat)
    found = [Answers.of(table, allowed, pointer), Answers.of(table, allowed, pointer, column=True)]
    if both:
        total = table + table.permute(0, 3, 2, 1)
        found.append(Answers.of(total, _candidates_only(total, pointer, self_counts=compat), pointer))
    return tuple(found)


def judge(
    answers: Sequence[Answers], pointer: Pointer, *, special: bool = False, compat: bool = False
) -> tuple[Tensor, Tensor]:
    """Hold every head's answers against the gold arcs.

    Args:
        answers: of each direction, see `read_answers`.
        pointer: the batch's arcs.
        special: whether special tokens are candidates.
        compat: the notebook's choices: a word may point at itself where it attends to no other word, and the
            `poss` rule holds unless a word's own answer is the last word.

    Returns:
        `hits` bool `[arc, layer, head, direction]`; `other`, the same with special tokens treated the other way.
    """
    hits, other = [], []
    for each in answers:
        right, beaten = each.right(pointer, pointer.asked, pointer.gold, self_counts=compat)
        if compat:
            own, own_beaten = each.right(pointer, pointer.own, pointer.gold, self_counts=True)
            stays, _ = each.right(pointer, pointer.own, pointer.last, self_counts=True)
            right, beaten = torch.where(stays, own, right), torch.where(stays, own_beaten, beaten)
        hits.append(right & ~beaten if special else right)
        other.append(right if special else right & ~beaten)
    return torch.stack(hits, dim=3), torch.stack(other, dim=3)


def _candidates_only(table: Tensor, pointer: Pointer, *, self_counts: bool) -> Tensor:
    """Return a table `[batch, place, head, place]` in which what is no candidate lies below every weight."""
    # Adding is several times faster than filling under a mask; weights, and sums of two, are at most 2.
    allowed = table - 4.0 * pointer.barred[:, :, None].to(table.dtype)
    if self_counts:
        item, place = pointer.itself
        allowed[item, place, :, place] = 0.0
    return allowed
