"""A batch's gold arcs on the places of its words, and which of them the mask allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.syntax.gold_arcs import Arcs
from headscope.attention.word_attention import WordAxis
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass


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
        on_host: `rows`, `own`, `asked`, `gold` and `last` as they were before they went to the device, `[5, arc]`.
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
    on_host: NDArray[np.int64]

    @cached_property
    def itself(self) -> tuple[Tensor, Tensor]:
        """Segment and place of every word: where it would point at itself, `[word]` both."""
        item, place = self.candidate.nonzero(as_tuple=True)
        return item, place

    @classmethod
    def of(cls, axis: WordAxis, classes: Tensor, arcs: Sequence[Arcs]) -> "Pointer":
        """Find the places of a batch's arcs; `classes` are those of the tokens, `[batch, position]`."""
        # Both in one copy from the device.
        words, valid = torch.stack([axis.words, axis.valid.long()]).cpu().numpy()
        most = max((len(each.heads) for each in arcs), default=0)
        # One column to spare: the root's -1 and heads that were cut off look there and find none.
        place = np.full((len(arcs), most + 1), -1, dtype=np.int64)
        segment, at = np.nonzero((words != NO_WORD) & (valid != 0))
        place[segment, words[segment, at]] = at
        rows = np.repeat(np.arange(len(arcs)), [len(each.heads) for each in arcs])

        def places(indices: list[np.ndarray]) -> np.ndarray:
            flat = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
            flat = np.where((flat < 0) | (flat > most), most, flat)
            return place[rows, flat]

        on_host = np.stack(
            [
                rows,
                places([np.arange(len(each.heads)) for each in arcs]),
                places([each.asked for each in arcs]),
                places([each.heads for each in arcs]),
                places([np.full(len(each.heads), len(each.heads) - 1) for each in arcs]),
            ]
        )
        on_device = torch.from_numpy(on_host).to(axis.words.device)
        apart = axis.valid & (axis.words == NO_WORD)
        number = int(((words == NO_WORD) & (valid != 0)).sum(1).max()) if len(arcs) else 0
        order = (~apart).long().argsort(dim=1, stable=True)[:, :number]
        special = torch.where(apart.gather(1, order), order, -1)
        of_special = classes.gather(1, axis.leaders).gather(1, order).masked_fill(special < 0, KeyClass.OTHER)
        candidate = axis.valid & (axis.words != NO_WORD)
        same = torch.eye(words.shape[1], dtype=torch.bool, device=candidate.device)
        return cls(
            **dict(zip(("rows", "own", "asked", "gold", "last"), on_device, strict=True)),
            on_host=on_host,
            candidate=candidate,
            barred=~(candidate[:, :, None] & candidate[:, None, :]) | same,
            special=special,
            classes=torch.stack([of_special == KeyClass.SEP, of_special == KeyClass.CLS], dim=2).float(),
            axis=axis,
        )


def reachable(pointer: Pointer, visible: Tensor | None, *, directions: int) -> Tensor:
    """Say which arcs the mask allows in each direction, bool `[arc, direction]`; `both` needs either.

    Args:
        pointer: the batch's arcs.
        visible: which keys each token may attend to, `[batch, query, key]`; everything when None.
        directions: how many are scored.
    """
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
