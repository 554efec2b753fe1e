"""What is known of each token id without a text: how it is written, and how frequent it is in the run's text."""

from codecs import getincrementaldecoder
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.delimiters import delimiters_of
from headscope.encoding.tokenizer.token_names import piece_bytes, piece_text


@dataclass(frozen=True, kw_only=True, eq=False)
class VocabularyFacts:
    """What is known of each token id.

    Attributes:
        texts: the text of each id without its marks; empty for special tokens, ids without a token, and ids that are
            pieces of a character.
        pieces: the bytes of each id that is a piece of a character, or ends or begins with one.
        delimiters: `Delimiter` of each, `[id]`.
        log_frequency: natural logarithm of its number in a million tokens of the text, at least 0, `[id]`.
        hidden: the id that stands for a hidden word; -1 where there is none.
    """

    texts: tuple[str, ...]
    delimiters: NDArray[np.uint8]
    log_frequency: NDArray[np.float64]
    hidden: int = -1
    pieces: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of_names(cls, named: Mapping[int, str], *, special: Collection[int] = ()) -> "VocabularyFacts":
        """Read the names of tokens.

        Args:
            named: how the tokenizer names each id: `##ing`, `Ġthe`, `▁the`.
            special: ids that are no text.
        """
        size = max(named, default=-1) + 1
        texts, pieces = [""] * size, {}
        for token_id, piece in zip(named, piece_bytes(list(named.values())), strict=True):
            if token_id not in special:
                texts[token_id] = _stripped(piece_text(piece))
                if piece and not texts[token_id]:
                    pieces[token_id] = piece
        delimiters = np.zeros(size, dtype=np.uint8)
        known = delimiters_of(named, special=special)
        delimiters[: len(known)] = known[:size]
        return cls(texts=tuple(texts), pieces=pieces, delimiters=delimiters, log_frequency=np.zeros(size))

    @classmethod
    def of_tokenizer(cls, tokenizer: Any) -> "VocabularyFacts":
        """Read the vocabulary of a transformers tokenizer."""
        named = {int(number): str(token) for token, number in tokenizer.get_vocab().items()}
        facts = cls.of_names(named, special={int(token_id) for token_id in tokenizer.all_special_ids})
        mask = getattr(tokenizer, "mask_token_id", None)
        return facts if mask is None else replace(facts, hidden=int(mask))

    def with_counts(self, counts: NDArray[np.int64]) -> "VocabularyFacts":
        """Return the same facts with the frequencies of a text.

        Args:
            counts: how often each id occurs, `[id]`; ids beyond these do not occur.
        """
        padded = np.zeros(len(self.texts), dtype=np.float64)
        padded[: len(counts)] = counts[: len(padded)]
        return replace(self, log_frequency=np.log(np.maximum(padded * (1e6 / max(1.0, padded.sum())), 1.0)))

    @cached_property
    def mean_log_frequency(self) -> float:
        """The mean of the logarithms over the tokens of the text."""
        counts = np.where(self.log_frequency > 0, np.exp(self.log_frequency), 0.0)
        return float(counts @ self.log_frequency / max(1.0, counts.sum()))

    def texts_of(self, ids: Iterable[int]) -> list[str]:
        """Return the text of each token of an input: the characters that it completes, without white space around them.

        A tokenizer of bytes cuts `Ä` into two tokens. The first has no text, no case and no length; the second is `Ä`.

        Args:
            ids: of tokens one after another in a text; those beyond the tokenizer's have no text.
        """
        decoder, out = getincrementaldecoder("utf-8")(errors="ignore"), []
        for token_id in ids:
            if token_id in self.pieces:
                out.append(_stripped(decoder.decode(self.pieces[token_id])))
            else:
                decoder.reset()
                out.append(self.texts[token_id] if 0 <= token_id < len(self.texts) else "")
        return out

    def of(self, values: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        """Take a fact of tokens, `[token]`; ids beyond the tokenizer's have 0."""
        known = ids < len(values)
        return np.where(known, values[np.where(known, ids, 0)], 0)


def _stripped(text: str) -> str:
    """Return a text without white space around it; white space alone stays as it is."""
    return text.strip() or text
