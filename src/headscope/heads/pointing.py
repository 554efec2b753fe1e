"""From attention between words to answers: which word each word points at, and whether that is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.attention.words import WordAxis
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass
from headscope.heads.arcs import Arcs


@dataclass(frozen=True, eq=False)
class Pointer:
    """A batch's arcs on the places of its words; made once a batch, used for every layer.

    Arcs are listed segment by segment, one a word, `[arc]` in all. A place of -1 is that of a word without
    pieces, or of the root.

    Attributes:
        rows: which segment each arc is of, `[arc]`.
        own: place of the dependent, `[arc]`.
        asked: place of the word that answers for it, `[arc]`.
        gold: place of its head, `[arc]`.
        last: place of its sentence's last word, `[arc]`.
        candidate: which places are words, `[batch, place]`.
        barred: which pairs of places are not two different words, `[batch, query place, key place]`.
        special: places of special tokens, -1 beyond their number, `[batch, special]`.
        classes: 1 where a special token is sep, and where it is cls, `[batch, special, 2]`.
        axis: the places.
    """

    rows: Tensor
    own: Tensor
    asked: Tensor
    gold: Tensor
    last: Tensor
    candidate: Tensor
    barred: Tensor
    special: Tensor
    classes: Tensor
    axis: WordAxis

    @classmethod
    def of(cls, axis: WordAxis, classes: Tensor, arcs: Sequence[Arcs]) -> "Pointer":
        """Find the places of a batch's arcs; `classes` are those of the tokens, `[batch, position]`."""
        words = axis.words.cpu().numpy()
        most = max((len(each.heads) for each in arcs), default=0)
        # One column to spare: the root's -1 and heads that were cut off look there and find none.
        place = np.full((len(arcs), most + 1), -1, dtype=np.int64)
        segment, at = np.nonzero((words != NO_WORD) & axis.valid.cpu().numpy())
        place[segment, words[segment, at]] = at
        rows = np.repeat(np.arange(len(arcs)), [len(each.heads) for each in arcs])

        def places(indices: list[np.ndarray]) -> Tensor:
            flat = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
            flat = np.where((flat < 0) | (flat > most), most, flat)
            return torch.from_numpy(place[rows, flat]).to(axis.words.device)

        apart = axis.valid & (axis.words == NO_WORD)
        number = int(apart.sum(1).max()) if len(arcs) else 0
        order = (~apart).long().argsort(dim=1, stable=True)[:, :number]
        special = torch.where(apart.gather(1, order), order, -1)
        of_special = classes.gather(1, axis.leaders).gather(1, order).masked_fill(special < 0, KeyClass.OTHER)
        candidate = axis.valid & (axis.words != NO_WORD)
        same = torch.eye(words.shape[1], dtype=torch.bool, device=candidate.device)
        return cls(
            rows=torch.from_numpy(rows).to(axis.words.device),
            own=places([np.arange(len(each.heads)) for each in arcs]),
            asked=places([each.asked for each in arcs]),
            gold=places([each.heads for each in arcs]),
            last=places([np.full(len(each.heads), len(each.heads) - 1) for each in arcs]),
            candidate=candidate,
            barred=~(candidate[:, :, None] & candidate[:, None, :]) | same,
            special=special,
            classes=torch.stack([of_special == KeyClass.SEP, of_special == KeyClass.CLS], dim=2).float(),
            axis=axis,
        )


def point(
    weights: Tensor,
    pointer: Pointer,
    *,
    visible: Tensor | None = None,
    special: bool = False,
    both: bool = False,
    compat: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Answer every arc with every head.

    Args:
        weights: attention between words, `[batch, head, query place, key place]`.
        pointer: the batch's arcs.
        visible: which keys each token may attend to, `[batch, query, key]`; everything when None.
        special: whether special tokens are candidates.
        both: whether to answer by the sum of the two directions too.
        compat: the notebook's choices: a word may point at itself where it attends to no other word, and the
            `poss` rule holds unless a word's own answer is the last word.

    Returns:
        `hits` bool `[arc, head, direction]`; `other`, the same with special tokens treated the other way;
        `reachable` bool `[arc, direction]`, whether the mask allows the answer; `noop`, attention of the
        dependent to sep and to cls, `[arc, head, 2]`. Directions: dependent->head, head->dependent, both.
    """
    # [batch, query place, head, key place], as `between_words` lays it out: no copy is made of it.
    table = weights.transpose(1, 2)
    # One table without what is no candidate serves both directions: a barred pair is barred both ways.
    allowed = _candidates_only(table, pointer, self_counts=compat)
    tables = [_Answers(table, allowed, pointer), _Answers(table, allowed, pointer, column=True)]
    if both:
        total = table + table.permute(0, 3, 2, 1)
        tables.append(_Answers(total, _candidates_only(total, pointer, self_counts=compat), pointer))
    hits, other = [], []
    for each in tables:
        right, beaten = each.right(pointer.asked, pointer.gold, self_counts=compat)
        if compat:
            own, own_beaten = each.right(pointer.own, pointer.gold, self_counts=True)
            stays, _ = each.right(pointer.own, pointer.last, self_counts=True)
            right, beaten = torch.where(stays, own, right), torch.where(stays, own_beaten, beaten)
        hits.append(right & ~beaten if special else right)
        other.append(right if special else right & ~beaten)
    nothing = weights.new_zeros((len(pointer.rows), weights.shape[1]))
    marks = pointer.classes[pointer.rows].to(weights.dtype)
    noop = torch.stack([nothing, nothing], dim=2)
    for number, (weight, _) in enumerate(tables[0].special(pointer.own)):
        noop = noop + weight.clamp(min=0)[:, :, None] * marks[:, None, number]
    noop = noop * (pointer.own >= 0)[:, None, None]
    return (
        torch.stack(hits, dim=2),
        torch.stack(other, dim=2),
        _reachable(pointer, visible, directions=len(tables)),
        noop,
    )


def _candidates_only(table: Tensor, pointer: Pointer, *, self_counts: bool) -> Tensor:
    """Return a table `[batch, place, head, place]` in which what is no candidate lies below every weight."""
    # Adding is several times faster than filling under a mask; weights, and sums of two, are at most 2.
    allowed = table - 4.0 * pointer.barred[:, :, None].to(table.dtype)
    if self_counts:
        item, place = pointer.candidate.nonzero(as_tuple=True)
        allowed[item, place, :, place] = 0.0
    return allowed


class _Answers:
    """The answers of a batch's words in one direction: each word's is the leftmost of those with most weight.

    Args:
        table: weight between places, `[batch, place, head, place]`.
        allowed: the same with what is no candidate below every weight.
        pointer: the batch's arcs.
        column: whether a word's answer is sought among those that attend to it, in its column.
    """

    def __init__(self, table: Tensor, allowed: Tensor, pointer: Pointer, *, column: bool = False) -> None:
        self.table, self.allowed, self.pointer, self.column = table, allowed, pointer, column
        # The most weight on a candidate for every place, `[batch, place, head]`.
        self.best = allowed.amax(1).transpose(1, 2) if column else allowed.amax(3)

    def weight(self, table: Tensor, asked: Tensor, place: Tensor) -> Tensor:
        """Weight between each arc's asked place and another, `[arc, head]`."""
        rows, asked, place = self.pointer.rows, asked.clamp(min=0), place.clamp(min=0)
        return table[rows, place, :, asked] if self.column else table[rows, asked, :, place]

    def special(self, asked: Tensor) -> list[tuple[Tensor, Tensor]]:
        """For each special token of an input, the weight on it, `[arc, head]`, -1 where there is none; its place."""
        places = self.pointer.special[self.pointer.rows].T
        return [
            (self.weight(self.table, asked, place).masked_fill((place < 0)[:, None], -1.0), place)
            for place in places
        ]

    def right(self, asked: Tensor, gold: Tensor, *, self_counts: bool) -> tuple[Tensor, Tensor]:
        """Say where the asked word's answer is the gold one.

        Args:
            asked: whose answer is looked at, `[arc]`.
            gold: what is right, `[arc]`.
            self_counts: whether weight 0 is an answer.

        Returns:
            Whether the answer is right, `[arc, head]`, and whether a special token has more weight than it.
        """
        known = (asked >= 0) & (gold >= 0)
        best = self.best[self.pointer.rows, asked.clamp(min=0)]
        value = self.weight(self.allowed, asked, gold)
        right = (value == best) & known[:, None] & (value >= 0 if self_counts else value > 0)
        # Equals further left win. They are rare, and are looked for only where the answer may be right.
        arc, head = right.nonzero(as_tuple=True)
        row, place = self.pointer.rows[arc], asked[arc]
        line = self.allowed[row, :, head, place] if self.column else self.allowed[row, place, head]
        left = torch.arange(line.shape[1], device=line.device) < gold[arc, None]
        right[arc, head] = ~((line == best[arc, head][:, None]) & left).any(1)
        beaten = torch.zeros_like(right)
        for weight, where in self.special(asked):
            beaten |= (weight > best) | ((weight == best) & (where < gold)[:, None])
        return right, beaten


def _reachable(pointer: Pointer, visible: Tensor | None, *, directions: int) -> Tensor:
    """Say which arcs the mask allows in each direction, `[arc, direction]`; `both` needs either."""
    known = (pointer.gold >= 0) & (pointer.asked >= 0)
    if visible is None:
        return known[:, None].expand(-1, directions)
    # A word sees another where one of its pieces sees one of the other's.
    members = pointer.axis.members
    sees = members.transpose(1, 2) @ visible.float() @ members > 0
    asked, gold = pointer.asked.clamp(min=0), pointer.gold.clamp(min=0)
    there = known & sees[pointer.rows, asked, gold]
    back = known & sees[pointer.rows, gold, asked]
    return torch.stack([there, back, there | back][:directions], dim=1)
