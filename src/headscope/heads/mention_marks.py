"""A batch's mentions as padded tensors: what is asked of attention, and which answers are right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.heads.mention_table import MENTION_TYPES, MentionTable
from headscope.heads.word_rows import WordRows, on_places, places_of_words


@dataclass(frozen=True, eq=False)
class MentionMarks:
    """A batch's mentions that count, padded, by word.

    Attributes:
        wanted: words whose rows are read, `[batch, word]`.
        heads: head word of each mention, -1 for padding, `[batch, mention]`.
        types: `MENTION_TYPES` of each, `[batch, mention, type]` of 0 and 1.
        allowed: words that it may point at, `[batch, mention, word]`.
        right: those that are right, `[batch, mention, word]`.
    """

    wanted: Tensor
    heads: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, tables: Sequence[MentionTable | None], *, strict: bool) -> "MentionMarks":
        """Lay out the segments' tables, None where there is none; `strict` allows all other words."""
        known = [table for table in tables if table is not None]
        mentions = max(len(table.asked) for table in known)
        words = max(table.candidate_words.shape[1] for table in known)
        size = (len(tables), mentions)
        heads = np.full(size, -1, dtype=np.int64)
        types = np.zeros((*size, len(MENTION_TYPES)), dtype=np.float32)
        allowed, right = np.zeros((*size, words), dtype=bool), np.zeros((*size, words), dtype=bool)
        wanted = np.zeros((len(tables), words), dtype=bool)
        for item, table in enumerate(tables):
            if table is None:
                continue
            number, width = table.candidate_words.shape
            own = table.asked_heads
            heads[item, :number] = own
            types[item, :number] = table.asked_types
            allowed[item, :number, :width] = (
                np.arange(width) != own[:, None] if strict else table.candidate_words
            )
            right[item, :number, :width] = table.right_words
            wanted[item, own] = True
        arrays = (wanted, heads, types, allowed, right)
        return cls(*(torch.from_numpy(array) for array in arrays))


@dataclass(frozen=True, eq=False)
class MentionQuestions:
    """The same on the places of the rows that were taken.

    Attributes:
        places: query place of each mention's head word, -1 where it is not in these rows, `[batch, mention]`.
        types: `[batch, mention, type]`.
        allowed, right: `[batch, mention, key place]`.
    """

    places: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, marks: MentionMarks, rows: WordRows) -> "MentionQuestions":
        """Find the marks' places among the rows and keys that were taken."""
        device = rows.rows.device
        heads = marks.heads.to(device)
        places = places_of_words(rows.queries, marks.wanted.shape[1])
        return cls(
            places=places.gather(1, heads.clamp(min=0)).masked_fill(heads < 0, -1),
            types=marks.types.to(device),
            allowed=on_places(marks.allowed.to(device), rows.keys),
            right=on_places(marks.right.to(device), rows.keys),
        )

    def hits(self, weights: Tensor) -> Tensor:
        """Count right answers, `[batch, head, type]`, from attention `[batch, head, query place, key place]`."""
        items = torch.arange(len(self.places), device=self.places.device)[:, None]
        own = weights[items, :, self.places.clamp(min=0)]
        # Places follow the text and the first of equal weights is taken: the leftmost wins a tie.
        best, answer = own.masked_fill(~self.allowed[:, :, None], -1.0).max(dim=3)
        right = self.right[:, :, None].expand(-1, -1, own.shape[2], -1).gather(3, answer[..., None])[..., 0]
        # Weight 0 is no answer: nothing that it may look at was there.
        right = right & (best > 0) & (self.places >= 0)[:, :, None]
        return (right.transpose(1, 2).to(self.types.dtype) @ self.types).to(torch.int64)
