"""A batch's gold arcs by the positions of their words, and the arcs that the mask allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.syntax.arcs.gold_arcs import Arcs
from headscope.attention.word_attention import WordAxis
from headscope.encoding.segment import NO_WORD, Segment, piece_holders, sent
from headscope.encoding.vocabulary import KeyClass


@dataclass(frozen=True, eq=False)
class BatchArcs:
    """A batch's arcs by the positions of their words on the word axis; computed once per batch for all layers.

    Arcs are listed segment by segment, one per word, `[arc]` in all. The position is -1 for the root and for a word
    without pieces. Words that share their pieces share a position.

    Attributes:
        rows: the segment of each arc, `[arc]`.
        word: position of the arc's word, `[arc]`.
        dependent: position of the arc's dependent: the word itself, or its clitic, `[arc]`.
        gold: position of the head, `[arc]`.
        last: position of its sentence's last word, `[arc]`.
        candidate: True for positions that are words, `[batch, word]`.
        barred: True for pairs of positions that are not two different words, `[batch, query word, key word]`.
        special: positions of special tokens, filled up with -1, `[batch, special]`.
        classes: 1 where a special token is sep, and where it is cls, `[batch, special, 2]`.
        axis: the word axis.
        on_host: `rows`, `word`, `dependent`, `gold` and `last` before they are copied to the device, `[5, arc]`.
    """

    rows: Tensor
    word: Tensor
    dependent: Tensor
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
        """The segment and position of every word, for its attention to itself, both `[word]`."""
        words, valid = self.axis.on_host.words.numpy(), self.axis.on_host.valid.numpy()
        item, position = np.nonzero(valid & (words != NO_WORD))
        device = self.axis.words.device
        return sent(torch.from_numpy(item), device), sent(torch.from_numpy(position), device)

    @classmethod
    def of(cls, axis: WordAxis, classes: Tensor, arcs: Arcs, segments: Sequence[Segment] = ()) -> "BatchArcs":
        """Find the positions of a batch's arcs.

        Args:
            axis: the word axis.
            classes: the classes of the tokens, `[batch, position]`.
            arcs: the batch's arcs.
            segments: the batch, for the words that share their pieces; if empty, no words share pieces.
        """
        words, valid = axis.on_host.words.numpy(), axis.on_host.valid.numpy()
        number, most = len(arcs.sizes), int(arcs.sizes.max(initial=0))
        # An additional column holds -1 for the root and for heads that were cut off.
        position_of = np.full((number, most + 1), -1, dtype=np.int64)
        segment, at = np.nonzero((words != NO_WORD) & valid)
        position_of[segment, words[segment, at]] = at
        if segments:
            holders = piece_holders(segments, words=most)
            position_of[:, :most] = np.take_along_axis(position_of[:, :most], holders, axis=1)
        rows = np.repeat(np.arange(number), arcs.sizes)
        indices = np.stack([arcs.words, arcs.dependents, arcs.heads, arcs.sizes[rows] - 1])
        is_outside = (indices < 0) | (indices > most)
        on_host = np.stack([rows, *position_of[rows, np.where(is_outside, most, indices)]])
        on_device = sent(torch.from_numpy(on_host), axis.words.device)
        is_special = axis.valid & (axis.words == NO_WORD)
        most_special = int(((words == NO_WORD) & valid).sum(1).max(initial=0))
        order = (~is_special).long().argsort(dim=1, stable=True)[:, :most_special]
        special = torch.where(is_special.gather(1, order), order, -1)
        of_special = classes.gather(1, axis.leaders).gather(1, order).masked_fill(special < 0, KeyClass.OTHER)
        candidate = axis.valid & (axis.words != NO_WORD)
        same = torch.eye(words.shape[1], dtype=torch.bool, device=candidate.device)
        return cls(
            **dict(zip(("rows", "word", "dependent", "gold", "last"), on_device, strict=True)),
            on_host=on_host,
            candidate=candidate,
            barred=~(candidate[:, :, None] & candidate[:, None, :]) | same,
            special=special,
            classes=torch.stack([of_special == KeyClass.SEP, of_special == KeyClass.CLS], dim=2).float(),
            axis=axis,
        )


def reachable(batch_arcs: BatchArcs, visible: Tensor | None, *, directions: int) -> Tensor:
    """Mark the arcs that the mask allows in each direction, bool `[arc, direction]`; `both` needs either.

    Args:
        batch_arcs: the batch's arcs.
        visible: keys to which each token may attend, `[batch, query, key]`; all keys when None.
        directions: number of directions that are scored.
    """
    is_known = (batch_arcs.gold >= 0) & (batch_arcs.dependent >= 0)
    if visible is None:
        return is_known[:, None].expand(-1, directions)
    # A word sees another where one of its pieces sees one of the other's.
    members = batch_arcs.axis.members
    sees = members.transpose(1, 2) @ visible.float() @ members > 0
    dependent, gold = batch_arcs.dependent.clamp(min=0), batch_arcs.gold.clamp(min=0)
    there = is_known & sees[batch_arcs.rows, dependent, gold]
    back = is_known & sees[batch_arcs.rows, gold, dependent]
    return torch.stack([there, back, there | back][:directions], dim=1)
