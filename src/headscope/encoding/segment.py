"""One model input, the data of a padded batch of inputs, and the copy of a tensor to the device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.vocabulary import KeyClass

if TYPE_CHECKING:
    import torch
    from torch import Tensor


NO_WORD = -1


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One model input.

    Attributes:
        document: id of the document of the segment.
        index: index of the segment in its document, from 0.
        ids: token ids, special tokens included, `[token]`.
        token_types: 0 for the first text of a pair, 1 for the second, `[token]`.
        word_ids: index of each token's word, `NO_WORD` for special tokens, `[token]`.
        words: the words, if the corpus has words; else empty.
        shared: the words that share the pieces of the previous word, ascending, as the words of a multi-word token do.
        shortened: whether tokens were left out to make it fit.
        words_note: reason why some words are the tokenizer's; empty if all words are those of the text.
        first_written: whether the text itself begins with the tokenizer's first tokens, which are read only once.
        fields: further fields of the corpus entry, kept for `extract`.
        origin: the document's position in its file, for error messages; not part of the content.
        partner: the same text as a second model with another tokenizer reads it, with the word ids of this segment;
            None without such a model.
    """

    document: str
    index: int
    ids: NDArray[np.int64]
    token_types: NDArray[np.int64]
    word_ids: NDArray[np.int64]
    words: tuple[str, ...] = ()
    shared: tuple[int, ...] = ()
    shortened: bool = False
    words_note: str = ""
    first_written: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    partner: "Segment | None" = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)


def shared_words(forms: Sequence[str]) -> tuple[int, ...]:
    """Return the words without written characters of their own, which share those of the previous word, ascending."""
    return tuple(index for index, form in enumerate(forms) if index and not form)


def piece_holders(segments: Sequence[Segment], *, words: int) -> NDArray[np.int64]:
    """Return the word whose pieces each word has: itself, or the previous word if it shares pieces, `[batch, word]`.

    Args:
        segments: segments of a batch.
        words: number of words of the longest segment.
    """
    holders = np.tile(np.arange(words), (len(segments), 1))
    for item, segment in enumerate(segments):
        for word in segment.shared:
            holders[item, word] = holders[item, word - 1]
    return holders


@dataclass(frozen=True, kw_only=True)
class SegmentInfo:
    """The tokens along one axis (queries or keys) of a batch; all tensors are `[batch, position]`.

    Attributes:
        ids: token ids; padding holds the pad id.
        classes: `KeyClass` of each token, 0 for padding.
        word_ids: index of each token's word, -1 for special tokens and padding.
        valid: False for padding.
        lengths: true length of each segment, `[batch]`.
        documents: document id of each segment.
        indices: each segment's index in its document.
        before_copy: the same data on the host, if they were copied to a device.
    """

    ids: "Tensor"
    classes: "Tensor"
    word_ids: "Tensor"
    valid: "Tensor"
    lengths: "Tensor"
    documents: tuple[str, ...]
    indices: tuple[int, ...]
    before_copy: "SegmentInfo | None" = field(default=None, repr=False)

    @property
    def on_host(self) -> "SegmentInfo":
        """The same data on the host, where reading does not wait for the device."""
        return self.before_copy or self

    def to(self, device: "torch.device | str") -> "SegmentInfo":
        """Return the same data on a device, in two copies: each copy costs as much as a hundred times its bytes."""
        import torch

        if self.ids.device == torch.device(device):
            return self
        device = torch.device(device)
        each = sent(torch.stack([self.ids, self.classes, self.word_ids, self.valid.long()]), device)
        return replace(
            self,
            ids=each[0],
            classes=each[1],
            word_ids=each[2],
            valid=each[3] != 0,
            lengths=sent(self.lengths, device),
            before_copy=self.on_host,
        )

    @cached_property
    def content(self) -> "Tensor":
        """True for tokens that are neither padding nor special tokens, `[batch, position]` bool."""
        return self.valid & (self.classes != KeyClass.CLS) & (self.classes != KeyClass.SEP)

    @cached_property
    def starts_word(self) -> "Tensor":
        """True for the first token of each word, `[batch, position]` bool."""
        starts = self.word_ids >= 0
        starts[:, 1:] &= self.word_ids[:, 1:] != self.word_ids[:, :-1]
        return starts

    @cached_property
    def positions(self) -> "Tensor":
        """Position of each token in its own segment, 0-based, `[batch, position]`; -1 for padding."""
        return (self.valid.long().cumsum(1) - 1).masked_fill(~self.valid, -1)


def sent(tensor: "Tensor", device: "torch.device") -> "Tensor":
    """Return a host tensor on a device, without waiting for the device's computations.

    Args:
        tensor: tensor on the host.
        device: target device.
    """
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # a copy from unpinned memory would wait
    return tensor.to(device, non_blocking=True)
