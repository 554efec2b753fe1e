"""A batch's mentions as tensors: the words to which each mention may attend, and the right ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.coref.mention_table import MentionTable
from headscope.attention.words.word_rows import WordRows, on_places, places_of_words
from headscope.encoding.sending import sent

# Number of weights compared at once, so that many mentions in one input do not multiply its attention in memory.
_WEIGHTS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class ScoredMentions:
    """The scored mentions of a batch, segment after segment, by word; `at_places` maps them to the selected rows.

    Attributes:
        wanted: True for words whose rows are read, `[batch, word]`.
        items: index of the segment of each mention, `[mention]`.
        heads: head word of each mention, `[mention]`; after `at_places` its index among the queries, or -1.
        types: `MENTION_TYPES` of each mention, `[mention, type]` of 0 and 1.
        allowed: True for the candidate words of each mention, `[mention, word]`, or `[mention, key index]`.
        right: True for the candidate words that are right, the same shape.
    """

    wanted: Tensor
    items: Tensor
    heads: Tensor
    types: Tensor
    allowed: Tensor
    right: Tensor

    @classmethod
    def of(cls, tables: Sequence[MentionTable | None], *, strict: bool) -> "ScoredMentions":
        """Concatenate the segments' tables, None where a segment has none; `strict` allows all other words."""
        known = [(item, table) for item, table in enumerate(tables) if table is not None]
        words = max(table.candidate_words.shape[1] for _, table in known)
        items = np.repeat([item for item, _ in known], [len(table.scored) for _, table in known])
        heads = np.concatenate([table.scored_heads for _, table in known])
        types = np.concatenate([table.scored_types for _, table in known])
        allowed, right = (np.zeros((len(items), words), dtype=bool) for _ in range(2))
        wanted = np.zeros((len(tables), words), dtype=bool)
        wanted[items, heads] = True
        end = 0
        for _, table in known:
            start, end = end, end + len(table.scored)
            width = table.candidate_words.shape[1]
            head = heads[start:end, None]
            allowed[start:end, :width] = np.arange(width) != head if strict else table.candidate_words
            right[start:end, :width] = table.right_words
        arrays = (wanted, items.astype(np.int64), heads, types.astype(np.int64), allowed, right)
        return cls(*(torch.from_numpy(array) for array in arrays))

    def at_places(self, rows: WordRows) -> "ScoredMentions":
        """Return the same mentions by their indices among the selected queries and keys, which are on a device."""
        queries, keys, device = rows.queries.on_host, rows.keys.on_host, rows.rows.device
        return replace(
            self,
            items=sent(self.items, device),
            heads=sent(places_of_words(queries, self.wanted.shape[1])[self.items, self.heads], device),
            types=sent(self.types, device),
            allowed=sent(on_places(self.allowed, self.items, keys), device),
            right=sent(on_places(self.right, self.items, keys), device),
        )

    def hits(self, weights: Tensor) -> Tensor:
        """Count right answers, `[batch, head, type]`, in attention `[batch, head, query index, key index]`."""
        batch, heads, _, keys = weights.shape
        hits = self.types.new_zeros((batch, heads, self.types.shape[1]))
        size = max(1, _WEIGHTS_AT_ONCE // (heads * keys))
        for first in range(0, len(self.items), size):
            chunk = slice(first, first + size)
            right = self._right(weights, chunk)
            hits.index_add_(0, self.items[chunk], right[:, :, None] * self.types[chunk, None])
        return hits

    def _right(self, weights: Tensor, chunk: slice) -> Tensor:
        """Mark the heads that are right about each mention of a chunk, `[mention, head]`."""
        items, queries = self.items[chunk], self.heads[chunk]
        attention = weights[items, :, queries.clamp(min=0)]
        # Indices follow the text, and `max` takes the first of equal weights, so the leftmost candidate wins a tie.
        best, answer = attention.masked_fill(~self.allowed[chunk, None], -1.0).max(dim=2)
        right = self.right[chunk].gather(1, answer)
        # A weight of 0 is not an answer, because no candidate was visible.
        return right & (best > 0) & (queries >= 0)[:, None]
