"""The word to which each word attends most, and whether it is right by a batch's gold arcs (dependency accuracy)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.syntax.gold_arcs import Arcs
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
