"""From attention between pieces to attention between words (section 4.1 of Clark et al. 2019).

Attention to a word of several pieces is the sum over its pieces; attention from it is their mean, so that every
row still sums to 1.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encoding.choices import POOLINGS
from headscope.encoding.segment import NO_WORD, SegmentInfo, sent

_ROUNDING = 1e-5  # of a row's sum


@dataclass(frozen=True, eq=False)
class WordAxis:
    """The words along one axis (queries or keys) of a batch, in the order of the text, without padding between them.

    A special token, or a piece outside words, counts as a word. A word without pieces has no position.

    Attributes:
        words: index of the word at each position, `NO_WORD` for a special token, `[batch, place]`.
        valid: False for padding at the end of the shorter segments, `[batch, place]`.
        places: word position of each token, -1 for padding, `[batch, position]`.
        leaders: position of the first token of each word, 0 for padding, `[batch, place]`.
        before_copy: the same words on the host, if they were copied to a device.
    """

    words: Tensor
    valid: Tensor
    places: Tensor
    leaders: Tensor
    before_copy: "WordAxis | None" = field(default=None, repr=False)

    @property
    def on_host(self) -> "WordAxis":
        """The same words on the host, where reading does not wait for the device."""
        return self.before_copy or self

    def to(self, device: torch.device) -> "WordAxis":
        """Return the same words on a device, without waiting for it."""
        if self.words.device == device:
            return self
        words, valid, leaders = sent(torch.stack([self.words, self.valid.long(), self.leaders]), device)
        return WordAxis(words, valid != 0, sent(self.places, device), leaders, before_copy=self.on_host)

    @cached_property
    def members(self) -> Tensor:
        """1 if a token belongs to a word, `[batch, position, place]` float32."""
        places = torch.arange(self.words.shape[1], device=self.places.device)
        return (self.places[:, :, None] == places).float()

    @cached_property
    def cut(self) -> tuple[Tensor, Tensor]:
        """The words of several tokens, numbered through the batch, and the number of tokens of each, both `[place]`."""
        places, (batch, longest) = self.on_host.places.numpy(), self.words.shape
        first = np.arange(batch)[:, None] * longest
        sizes = np.bincount((places + first)[places >= 0], minlength=batch * longest)
        cut = np.flatnonzero(sizes > 1)
        return self._sent(cut), self._sent(sizes[cut])

    @cached_property
    def unfilled(self) -> Tensor:
        """The positions beyond the words of the shorter segments, numbered through the batch, `[place]`."""
        return self._sent(np.flatnonzero(~self.on_host.valid.numpy()))

    @cached_property
    def followers(self) -> tuple[Tensor, Tensor, Tensor]:
        """The tokens after the first of their word: segment, position, and position of the word, `[token]` each."""
        places, leaders = (each.numpy() for each in (self.on_host.places, self.on_host.leaders))
        item, position = np.nonzero(places >= 0)
        word_place = places[item, position]
        follows = leaders[item, word_place] != position
        return self._sent(item[follows]), self._sent(position[follows]), self._sent(word_place[follows])

    def _sent(self, array: NDArray[np.int64]) -> Tensor:
        return sent(torch.from_numpy(array), self.words.device)


@dataclass(frozen=True, eq=False)
class WordAttention:
    """Attention between words.

    Attributes:
        weights: `[batch, head, query place, key place]`; rows of `queries.valid` sum to 1, others are 0.
        queries: the attending words.
        keys: the attended words.
    """

    weights: Tensor
    queries: WordAxis
    keys: WordAxis


def axis_of(tokens: SegmentInfo) -> WordAxis:
    """Find the words of a batch, and copy them to its tokens' device; the search is on the host, so that nothing waits.

    Args:
        tokens: tokens of one axis.
    """
    host = tokens.on_host
    return word_axis(host.word_ids, host.valid).to(tokens.word_ids.device)


def word_axis(word_ids: Tensor, valid: Tensor) -> WordAxis:
    """Find the words of a batch, on the host.

    Args:
        word_ids: index of each token's word, `NO_WORD` for special tokens and padding, `[batch, position]`.
        valid: False for padding, `[batch, position]`.
    """
    ids, is_token = word_ids.numpy(), valid.numpy()
    batch, width = ids.shape
    at = np.broadcast_to(np.arange(width), ids.shape)
    of_word = is_token & (ids != NO_WORD)
    # The first token of each word: the smallest position among the tokens that share its index.
    index = np.where(of_word, ids, 0)
    first = np.full((batch, int(index.max(initial=0)) + 1), width)
    item, position = np.nonzero(of_word)
    np.minimum.at(first, (item, index[item, position]), position)
    leader = np.where(of_word, np.take_along_axis(first, index, axis=1), at)
    leads = is_token & (leader == at)
    counts = leads.sum(1)
    places = np.take_along_axis(leads.cumsum(1) - 1, leader, axis=1)
    # The sort is stable, so that leaders come first and in order.
    leaders = np.argsort(~leads, axis=1, kind="stable")[:, : int(counts.max(initial=0))]
    filled = np.arange(leaders.shape[1]) < counts[:, None]
    return WordAxis(
        words=torch.from_numpy(np.where(filled, np.take_along_axis(ids, leaders, axis=1), NO_WORD)),
        valid=torch.from_numpy(filled),
        places=torch.from_numpy(np.where(is_token, places, -1)),
        leaders=torch.from_numpy(np.where(filled, leaders, 0)),
    )


def check_pooling(pooling: str) -> None:
    """Raise an error if a method of pooling the pieces of a word is not known.

    Raises:
        ValueError: the method is not known; names the known ones.
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling {pooling!r} is not known; choose one of {', '.join(POOLINGS)}")


def word_level(
    weights: Tensor,
    word_ids: Tensor,
    *,
    valid: Tensor | None = None,
    key_word_ids: Tensor | None = None,
    key_valid: Tensor | None = None,
    pooling: str = "mean",
) -> WordAttention:
    """Turn attention between pieces into attention between words.

    Args:
        weights: `[batch, head, query, key]`, rows sum to 1; some rows of a layer are enough if no word is split.
        word_ids: index of each query's word, `NO_WORD` for special tokens and padding, `[batch, query]`.
        valid: False for padding, `[batch, query]`; all are tokens if None.
        key_word_ids: the same for keys, `[batch, key]`; None if queries and keys are the same tokens.
        key_valid: False for padding, `[batch, key]`.
        pooling: attention from a word of several pieces: the `mean` of its pieces (as in the paper), its `first` piece
            (as in the original code), or `max`: the largest of its pieces' weights to each word, with the row
            scaled to the mean of its pieces' sums (1, or less with a learned sink).

    Returns:
        Weights in the dtype of the input, at least float32.

    Raises:
        ValueError: `pooling` is not known.
    """
    check_pooling(pooling)
    queries = word_axis(word_ids, torch.ones_like(word_ids, dtype=torch.bool) if valid is None else valid)
    if key_word_ids is None:
        keys = queries
    else:
        whole = torch.ones_like(key_word_ids, dtype=torch.bool) if key_valid is None else key_valid
        keys = word_axis(key_word_ids, whole)
    return WordAttention(weights=between_words(weights, queries, keys, pooling=pooling), queries=queries, keys=keys)


def between_words(weights: Tensor, queries: WordAxis, keys: WordAxis, *, pooling: str = "mean") -> Tensor:
    """Turn attention between pieces into attention between the words of two axes; see `word_level`.

    Args:
        weights: `[batch, head, query, key]`.
        queries: the attending words; call `word_axis` once per batch, for all its layers.
        keys: the attended words.
        pooling: method of pooling the rows of a word.

    Returns:
        `[batch, head, query place, key place]`; not contiguous in memory, because the heads are stored row by row.
    """
    exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
    batch, heads, length, width = exact.shape
    words = queries.words.shape[1]
    # Whole rows of all heads are picked, so that padding rows, which may hold anything, including NaN, are never
    # read; one copy that puts a row's heads next to each other makes the picking several times faster.
    lines = exact.transpose(1, 2).reshape(batch * length, heads * width)
    first = torch.arange(batch, device=exact.device)[:, None] * length
    picked = lines.index_select(0, (first + queries.leaders).flatten())
    if pooling != "first":
        item, position, word_index = queries.followers
        more = lines.index_select(0, item * length + position)
        if pooling == "mean":
            # Few words are split; only their rows are summed and divided.
            cut, sizes = queries.cut
            picked.index_add_(0, item * words + word_index, more)
            picked[cut] /= sizes[:, None].to(exact.dtype)
    picked.index_fill_(0, queries.unfilled, 0)
    rows = picked.view(batch, words, heads, width)
    members = keys.members.to(exact.dtype)
    out = (rows.view(batch, words * heads, width) @ members).view(batch, words, heads, -1)
    if pooling == "max":
        # The largest weight of a word's pieces, word by word; each row is then scaled to the mean sum of its pieces.
        left = rows.sum(-1).view(batch * words, heads)
        left.index_add_(0, item * words + word_index, more.view(-1, heads, width).sum(-1))
        cut, sizes = queries.cut
        left[cut] /= sizes[:, None].to(exact.dtype)
        # A sum that is 1 except for rounding is set to 1, so that tied weights stay tied.
        left = torch.where((left - 1).abs() < _ROUNDING, 1.0, left)
        more = more.view(-1, heads, width) @ members[item]
        flat = out.view(batch * words, -1)
        index = (item * words + word_index)[:, None].expand(-1, flat.shape[1])
        flat.scatter_reduce_(0, index, more.reshape(len(item), flat.shape[1]), "amax")
        total = out.sum(-1, keepdim=True)
        out = out * left.view(batch, words, heads, 1) / torch.where(total > 0, total, 1)
    return out.transpose(1, 2)
