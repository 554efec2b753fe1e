"""Attention from a few words of each segment: only their rows are pooled to word level."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import WordAxis, axis_of, between_words, word_axis
from headscope.encoding.segment import NO_WORD, sent


@dataclass(frozen=True, eq=False)
class WordRows:
    """The rows of a tile that belong to some words; made once per batch, used for every layer.

    Attributes:
        rows: numbers of the tile's rows, 0 for padding, `[batch, row]`.
        queries: words of these rows, in the order of the text.
        keys: the attended words.
    """

    rows: Tensor
    queries: WordAxis
    keys: WordAxis

    @classmethod
    def of(cls, tile: AttentionTile, wanted: Tensor) -> "WordRows":
        """Find the rows of the `wanted` words, `[batch, word]`, on the host, which has a copy of the tokens."""
        queries, device = tile.queries.on_host, tile.queries.word_ids.device
        word_ids, row_valid = queries.word_ids[:, tile.rows], queries.valid[:, tile.rows]
        known = row_valid & (word_ids != NO_WORD) & (word_ids < wanted.shape[1])
        chosen = known & wanted.gather(1, word_ids.clamp(0, wanted.shape[1] - 1))
        counts = chosen.sum(1)
        # The sort is stable, so that the chosen rows come first and in order.
        order = (~chosen).long().argsort(dim=1, stable=True)[:, : int(counts.numpy().max(initial=0))]
        valid = torch.arange(order.shape[1]) < counts[:, None]
        ids = word_ids.gather(1, order).masked_fill(~valid, NO_WORD)
        return cls(
            rows=sent(order.masked_fill(~valid, 0), device),
            queries=word_axis(ids, valid).to(device),
            keys=axis_of(tile.keys),
        )

    def attention(self, tile: AttentionTile, *, pooling: str) -> Tensor:
        """Return attention from the words to all words, `[batch, head, query position, key position]`."""
        items = torch.arange(len(self.rows), device=self.rows.device)[:, None]
        taken = tile.weights[items, :, self.rows].permute(0, 2, 1, 3)
        return between_words(taken, self.queries, self.keys, pooling=pooling)


def places_of_words(axis: WordAxis, words: int) -> Tensor:
    """Return the position of each of the first `words` words on an axis, -1 for a missing word, `[batch, word]`."""
    known = axis.valid & (axis.words != NO_WORD) & (axis.words < words)
    places = axis.words.new_full((len(axis.words), words + 1), -1)
    at = torch.arange(axis.words.shape[1], device=axis.words.device).expand_as(axis.words)
    return places.scatter(1, torch.where(known, axis.words, words), at)[:, :words]


def on_places(marks: Tensor, items: Tensor, axis: WordAxis) -> Tensor:
    """Turn marks on words, `[mark, word]`, into marks on the positions of an axis, `[mark, position]`.

    Args:
        marks: marks of all segments of a batch, segment by segment.
        items: segment of each mark, ascending, `[mark]`.
        axis: axis of the batch, on the host as the other arguments.
    """
    number = marks.shape[1]
    known = axis.valid & (axis.words != NO_WORD) & (axis.words < number)
    index = axis.words.clamp(0, number - 1)
    counts = np.bincount(items.numpy(), minlength=len(index)).tolist()
    # One segment at a time: an index for every mark and position would take eight times the memory of the marks.
    parts = [
        marks_of_segment[:, index[item]] & known[item]
        for item, marks_of_segment in enumerate(torch.split(marks, counts))
    ]
    return torch.cat(parts)
