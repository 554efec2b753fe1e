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
    same = torch.eye(pointer.candidate.shape[1], dtype=torch.bool, device=weights.device)
    allowed = weights.masked_fill(pointer.barred[:, None], -1.0)
    if compat:
        allowed = allowed.masked_fill(same & pointer.candidate[:, None, :, None], 0.0)
    to_special, from_special = _special(weights, pointer)
    tables = [(allowed, to_special), (allowed.transpose(2, 3), from_special)]
    if both:
        # Both halves of a barred pair are barred, so that their sum is below every candidate's.
        tables.append((allowed + allowed.transpose(2, 3), to_special + from_special))
    hits, other = [], []
    for table, apart in tables:
        value, answer = table.max(dim=3)
        right = _right(answer, value, pointer, compat=compat)
        if pointer.special.shape[1]:
            rival, which = apart.masked_fill(pointer.special[:, None, None] < 0, -1.0).max(dim=3)
            first = (
                pointer.special[:, None, None].expand(*rival.shape, -1).gather(3, which[..., None])[..., 0]
            )
            # Special tokens win a tie only where they stand further left.
            beaten = (rival > value) | ((rival == value) & (first < answer))
            value = value.masked_fill(beaten, -1.0)
        among_all = _right(answer, value, pointer, compat=compat)
        hits.append(among_all if special else right)
        other.append(right if special else among_all)
    noop = (to_special[:, :, :, None] @ pointer.classes[:, None, None].to(weights.dtype))[:, :, :, 0]
    noop = noop[pointer.rows, :, pointer.own.clamp(min=0)] * (pointer.own >= 0)[:, None, None]
    return (
        torch.stack(hits, dim=2),
        torch.stack(other, dim=2),
        _reachable(pointer, visible, directions=len(tables)),
        noop,
    )


def _special(weights: Tensor, pointer: Pointer) -> tuple[Tensor, Tensor]:
    """Return attention from each place to special tokens and back, `[batch, head, place, special]` each."""
    items = torch.arange(len(weights), device=weights.device)[:, None]
    places = pointer.special.clamp(min=0)
    to = weights[items, :, :, places].permute(0, 2, 3, 1)
    back = weights[items, :, places].permute(0, 2, 3, 1)
    there = (pointer.special >= 0)[:, None, None]
    return to * there, back * there


def _right(answer: Tensor, value: Tensor, pointer: Pointer, *, compat: bool) -> Tensor:
    """Say which arcs are answered rightly, `[arc, head]`, from each place's answer `[batch, head, place]`."""

    def of(place: Tensor) -> tuple[Tensor, Tensor]:
        at = (pointer.rows, slice(None), place.clamp(min=0))
        return answer[at], value[at]

    said, weight = of(pointer.asked)
    if compat:
        own, own_weight = of(pointer.own)
        stays = own == pointer.last[:, None]
        said, weight = torch.where(stays, own, said), torch.where(stays, own_weight, weight)
    known = (pointer.gold >= 0) & (pointer.asked >= 0)
    # Weight 0 is no answer: nothing that it may look at was there.
    return (said == pointer.gold[:, None]) & known[:, None] & (weight >= 0 if compat else weight > 0)


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
