"""A batch's mentions as tensors: what is asked of attention, and which answers are right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.coref.mention_table import MentionTable
from headscope.attention.word_rows import WordRows, on_places, places_of_words

_WEIGHTS_AT_ONCE = (
    1 << 22
)  # compared together, so that many mentions in one input do not multiply its attention


@dataclass(frozen=True, eq=False)
class MentionMarks:
    """A batch's mentions that count, one segment's after another's, by word.

    Attributes:
        wanted: words whose rows are read, `[batch, word]`.
        items: the segment of each mention, `[mention]`.
        heads: head word of each, `[mention]`.
        types: `MENTION_TYPES` of each, `[mention, type]` of 0 and 1.
        allowed: words that it may point at, `[mention, word]`.
        right: those that are right, `[mention, word]`.
    """

    wanted: Tensor
    items: Tensor
    heads: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, tables: Sequence[MentionTable | None], *, strict: bool) -> "MentionMarks":
        """Lay out the segments' tables, None where there is none; `strict` allows all other words."""
        known = [(item, table) for item, table in enumerate(tables) if table is not None]
        words = max(table.candidate_words.shape[1] for _, table in known)
        items = np.repeat([item for item, _ in known], [len(table.asked) for _, table in known])
        heads = np.concatenate([table.asked_heads for _, table in known])
        types = np.concatenate([table.asked_types for _, table in known])
        allowed, right = (np.zeros((len(items), words), dtype=bool) for _ in range(2))
        wanted = np.zeros((len(tables), words), dtype=bool)
        wanted[items, heads] = True
        end = 0
        for _, table in known:
            start, end = end, end + len(table.asked)
            width = table.candidate_words.shape[1]
            own = heads[start:end, None]
            allowed[start:end, :width] = np.arange(width) != own if strict else table.candidate_words
            right[start:end, :width] = table.right_words
        arrays = (wanted, items.astype(np.int64), heads, types.astype(np.int64), allowed, right)
        return cls(*(torch.from_numpy(array) for array in arrays))


@dataclass(frozen=True, eq=False)
class MentionQuestions:
    """The same on the places of the rows that were taken.

    Attributes:
        items: the segment of each mention, `[mention]`.
        places: query place of each mention's head word, -1 where it is not in these rows, `[mention]`.
        types: `[mention, type]`.
        allowed, right: `[mention, key place]`.
    """

    items: Tensor
    places: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, marks: MentionMarks, rows: WordRows) -> "MentionQuestions":
        """Find the marks' places among the rows and keys that were taken."""
        device = rows.rows.device
        items = marks.items.to(device)
        return cls(
            items=items,
            places=places_of_words(rows.queries, marks.wanted.shape[1])[items, marks.heads.to(device)],
            types=marks.types.to(device),
            allowed=on_places(marks.allowed.to(device), items, rows.keys),
            right=on_places(marks.right.to(device), items, rows.keys),
        )

    def hits(self, weights: Tensor) -> Tensor:
        """Count right answers, `[batch, head, type]`, from attention `[batch, head, query place, key place]`."""
        batch, heads, _, keys = weights.shape
        found = self.types.new_zeros((batch, heads, self.types.shape[1]))
        size = max(1, _WEIGHTS_AT_ONCE // (heads * keys))
        for first in range(0, len(self.items), size):
            some = slice(first, first + size)
            right = self._right(weights, some)
            found.index_add_(0, self.items[some], right[:, :, None] * self.types[some, None])
        return found

    def _right(self, weights: Tensor, some: slice) -> Tensor:
        """Say which heads answer some of the mentions rightly, `[mention, head]`."""
        items, places = self.items[some], self.places[some]
        own = weights[items, :, places.clamp(min=0)]
        # Places follow the text and the first of equal weights is taken: the leftmost wins a tie.
        best, answer = own.masked_fill(~self.allowed[some, None], -1.0).max(dim=2)
        right = self.right[some].gather(1, answer)
        # Weight 0 is no answer: nothing that it may look at was there.
        return right & (best > 0) & (places >= 0)[:, None]
