"""Masked language modeling: the choice of a segment's hidden tokens, and their replacements."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.questions.loss_questions import NO_TARGET, Question, generator_of
from headscope.encoding.segment import Segment
from headscope.errors import ModelError

SHARE = 0.15
MASKED, RANDOM = 0.8, 0.1  # shares of the hidden tokens; the rest are left unchanged


class MaskedTokens:
    """Hide 15% of a segment's tokens and ask for them, as in BERT's training (80% mask, 10% random, 10% unchanged).

    Special tokens are neither hidden nor drawn. Of n other tokens the nearest whole number to 0.15 n is hidden, at
    least one. The random draws depend only on the segment's document, its index and the seed, so that neither batches
    nor order change them.

    Args:
        tokenizer: a transformers tokenizer.
        seed: seed of the random draws.

    Raises:
        ModelError: the tokenizer has no mask token.
    """

    def __init__(self, tokenizer: Any, *, seed: int = 0) -> None:
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"{type(tokenizer).__name__} has no mask token, which masked language modeling needs; expected the "
                "tokenizer of a model trained on it, or choose another loss"
            )
        self.mask = int(tokenizer.mask_token_id)
        self.special = special_ids(tokenizer)
        everything = np.unique(list(tokenizer.get_vocab().values()))
        self.ordinary: NDArray[np.int64] = everything[~np.isin(everything, self.special)].astype(np.int64)
        self.seed = seed

    def __call__(self, segment: Segment) -> Question | None:
        """Make a segment's question; None for a segment with only special tokens."""
        places = np.flatnonzero(~np.isin(segment.ids, self.special))
        if not len(places):
            return None
        generator = generator_of(segment, seed=self.seed)
        number = max(1, round(SHARE * len(places)))
        hidden = np.sort(generator.permutation(places)[:number])
        lots = generator.random(number)
        drawn = self.ordinary[generator.integers(len(self.ordinary), size=number)]
        shown = np.where(lots < MASKED, self.mask, np.where(lots < MASKED + RANDOM, drawn, segment.ids[hidden]))
        ids, targets = segment.ids.copy(), np.full(len(segment), NO_TARGET, dtype=np.int64)
        targets[hidden] = ids[hidden]
        ids[hidden] = shown
        return Question(segment=replace(segment, ids=ids), targets=targets)


def special_ids(tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of a tokenizer's special tokens."""
    return np.array(sorted(set(tokenizer.all_special_ids)), dtype=np.int64)
