"""The special tokens around a text, and inputs made of given tokens instead of a text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.pieces import text_places


@dataclass(frozen=True)
class Frame:
    """The special tokens that a tokenizer puts before and after a text."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, encoder: Encoder) -> "Frame":
        """Read the special tokens from a text of one character."""
        whole = encoder.whole(encoder.pieces(["a"])[0])
        text = text_places(whole)
        ids = list(whole.ids)
        return cls(tuple(ids[: text[0]]), tuple(ids[text[-1] + 1 :]))

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    def segment(self, ids: NDArray[np.int64], *, document: str, index: int, **extra: Any) -> Segment:
        """Return an input of these tokens, `[token]`, with the special tokens around them and without words."""
        whole = np.concatenate([self.before, ids, self.after]).astype(np.int64)
        return Segment(
            document=document,
            index=index,
            ids=whole,
            token_types=np.zeros_like(whole),
            word_ids=np.full(len(whole), NO_WORD, dtype=np.int64),
            **extra,
        )
