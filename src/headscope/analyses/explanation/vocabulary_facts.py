"""What is known of each token id without a text: how it is written, and how frequent it is in the run's text."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.delimiters import delimiters_of
from headscope.encoding.tokenizer.token_names import text_of_bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class VocabularyFacts:
    """What is known of each token id.

    Attributes:
        texts: the text of each id without its marks; empty for special tokens and ids without a token.
        delimiters: `Delimiter` of each, `[id]`.
        log_frequency: natural logarithm of its number in a million tokens of the text, at least 0, `[id]`.
        hidden: the id that stands for a hidden word; -1 where there is none.
    """

    texts: tuple[str, ...]
    delimiters: NDArray[np.uint8]
    log_frequency: NDArray[np.float64]
    hidden: int = -1

    @classmethod
    def of_names(cls, named: Mapping[int, str], *, special: Collection[int] = ()) -> "VocabularyFacts":
        """Read the names of tokens.

        Args:
            named: how the tokenizer names each id: `##ing`, `Ġthe`, `▁the`.
            special: ids that are no text.
        """
        size = max(named, default=-1) + 1
        byte_level = any("\u0120" in name for name in named.values())
        texts = [""] * size
        for token_id, name in named.items():
            if token_id not in special:
                text = text_of_bytes(name) if byte_level else name
                texts[token_id] = text.replace("\u2581", " ").strip().removeprefix("##") or name
        delimiters = np.zeros(size, dtype=np.uint8)
        known = delimiters_of(named, special=special)
        delimiters[: len(known)] = known[:size]
        return cls(texts=tuple(texts), delimiters=delimiters, log_frequency=np.zeros(size))

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

    def of(self, values: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        """Take a fact of tokens, `[token]`; ids beyond the tokenizer's have 0."""
        known = ids < len(values)
        return np.where(known, values[np.where(known, ids, 0)], 0)
