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
    # Rows of one word lie together, [batch, place, head, other place], so that an arc's are one stretch of memory.
    forward = weights.transpose(1, 2).contiguous()
    backward = weights.permute(0, 3, 1, 2).contiguous()
    tables = [forward, backward, *([forward + backward] if both else [])]
    hits, other = [], []
    for table in tables:
        right, beaten = _answered(table, pointer, pointer.asked, pointer.gold, self_counts=compat)
        if compat:
            own, own_beaten = _answered(table, pointer, pointer.own, pointer.gold, self_counts=True)
            stays, _ = _answered(table, pointer, pointer.own, pointer.last, self_counts=True)
            right, beaten = torch.where(stays, own, right), torch.where(stays, own_beaten, beaten)
        hits.append(right & ~beaten if special else right)
        other.append(right if special else right & ~beaten)
    return (
        torch.stack(hits, dim=2),
        torch.stack(other, dim=2),
        _reachable(pointer, visible, directions=len(tables)),
        _to_special(forward, pointer),
    )


def _answered(
    table: Tensor, pointer: Pointer, asked: Tensor, gold: Tensor, *, self_counts: bool
) -> tuple[Tensor, Tensor]:
    """Say where the asked word's answer, the leftmost of the words with most weight, is the gold one.

    Args:
        table: weight between each place and the others, `[batch, place, head, other place]`.
        pointer: the batch's arcs.
        asked: whose answer is looked at, `[arc]`.
        gold: what is right, `[arc]`.
        self_counts: whether the word itself is a candidate of weight 0, and weight 0 an answer.

    Returns:
        Whether the answer is right, `[arc, head]`, and whether a special token has more weight than it.
    """
    known = (asked >= 0) & (gold >= 0)
    place = asked.clamp(min=0)
    right_place = gold.clamp(min=0)[:, None, None].expand(-1, table.shape[2], 1)
    picked = table[pointer.rows, place]
    special = _special(picked, pointer)
    picked.masked_fill_(pointer.barred[pointer.rows, place][:, None], -1.0)
    if self_counts:
        picked.scatter_(2, place[:, None, None].expand(-1, table.shape[2], 1), 0.0)
    best = picked.amax(2)
    value = picked.gather(2, right_place)[..., 0]
    right = (value == best) & known[:, None] & (value >= 0 if self_counts else value > 0)
    # Equals further left win. They are rare, and are looked for only where the answer may be right.
    arc, head = right.nonzero(as_tuple=True)
    left = torch.arange(table.shape[3], device=table.device) < gold[arc, None]
    earlier = ((picked[arc, head] == best[arc, head][:, None]) & left).any(1)
    right[arc, head] = ~earlier
    beaten = torch.zeros_like(right)
    for weight, where in special:
        beaten |= (weight > best) | ((weight == best) & (where < gold)[:, None])
    return right, beaten


def _special(picked: Tensor, pointer: Pointer) -> list[tuple[Tensor, Tensor]]:
    """Return, for each special token of an input, the weight on it, `[arc, head]`, and its place, `[arc]`."""
    found = []
    for place in pointer.special[pointer.rows].T:
        index = place.clamp(min=0)[:, None, None].expand(-1, picked.shape[1], 1)
        weight = picked.gather(2, index)[..., 0]
        found.append((weight.masked_fill((place < 0)[:, None], -1.0), place))
    return found


def _to_special(table: Tensor, pointer: Pointer) -> Tensor:
    """Return attention of each dependent to sep and to cls, `[arc, head, 2]`; 0 for a word without pieces."""
    places = pointer.special[pointer.rows]
    picked = table[pointer.rows, pointer.own.clamp(min=0)]
    to = picked.gather(2, places.clamp(min=0)[:, None].expand(-1, picked.shape[1], -1))
    there = (places >= 0) & (pointer.own >= 0)[:, None]
    return (to * there[:, None]) @ pointer.classes[pointer.rows].to(to.dtype)


def _reachable(pointer: Pointer, visible: Tensor | None, *, directions: int) -> Tensor:
    """Say which arcs the mask allows in each direction, `[arc, direction]`; `both` needs either."""
    known = (pointer.gold >= 0) & (pointer.asked >= 0)
    if visible is None:
        return known[:, None].expand(-1, directions)
    axis = pointer.axis
    width = axis.words.shape[1]
    # A word sees another where one of its pieces sees one of the other's.
    members = (axis.places[:, :, None] == torch.arange(width, device=axis.places.device)).float()
    sees = members.transpose(1, 2) @ visible.float() @ members > 0
    asked, gold = pointer.asked.clamp(min=0), pointer.gold.clamp(min=0)
    there = known & sees[pointer.rows, asked, gold]
    back = known & sees[pointer.rows, gold, asked]
    return torch.stack([there, back, there | back][:directions], dim=1)
