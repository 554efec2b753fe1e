"""Masks for training: the tokens to predict, and the tokens that the model sees in their place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARE = 0.15
MASKED, RANDOM = 0.8, 0.1  # shares of the tokens to predict; the rest stay unchanged
_HELD_OUT = (1 << 64) - 1  # an epoch that training never reaches


@dataclass(frozen=True)
class Masker:
    """Draw masks with a tokenizer's mask token.

    Attributes:
        ordinary: True for ids of text, False for special tokens, `[id]`.
        mask: id of the mask token.
    """

    ordinary: NDArray[np.bool_]
    mask: int

    @classmethod
    def of(cls, tokenizer: Any) -> "Masker":
        """Read the ids from a transformers tokenizer that has a mask token."""
        return cls(ordinary_pieces(tokenizer), int(tokenizer.mask_token_id))

    def draw(
        self, ids: NDArray[np.int32], *, key: int, epoch: int | None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the ids of an input as the model sees them, `[token]`, and the positions of the tokens to predict.

        The draw depends only on the input's key and the epoch, so neither batching nor a stop and resume changes it.
        `epoch=None` is the single draw used for evaluation.
        """
        seeds = np.array([key, _HELD_OUT if epoch is None else epoch], dtype=np.uint64)
        generator = np.random.Generator(np.random.Philox(key=seeds))
        return mask_tokens(ids, self.ordinary[ids], self.ordinary, mask=self.mask, generator=generator)


def ordinary_pieces(tokenizer: Any) -> NDArray[np.bool_]:
    """Return True for ids of a transformers tokenizer that are text, False for special tokens, `[id]`."""
    known = sorted(tokenizer.get_vocab().values())
    ordinary = np.zeros(known[-1] + 1, dtype=np.bool_)
    ordinary[known] = True
    ordinary[tokenizer.all_special_ids] = False
    return ordinary


def mask_tokens(
    ids: NDArray[np.int32],
    may_be_asked: NDArray[np.bool_],
    ordinary: NDArray[np.bool_],
    *,
    mask: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Choose 15% of an input's ordinary tokens; replace 80% of them by the mask and 10% by a random piece.

    The number is rounded up or down at random, so that the share is right on average, but at least one token is chosen
    in the shortest inputs.

    Args:
        ids: token ids, `[token]`.
        may_be_asked: True for tokens that are not special tokens, `[token]`.
        ordinary: True for ids of ordinary pieces, `[id]`; random pieces are drawn uniformly from these.
        mask: the mask token's id.
        generator: generator of the random draws.

    Returns:
        The masked ids, `[token]`, and the positions to predict in ascending order, `[asked]`; empty if all tokens are
        special.
    """
    able = np.flatnonzero(may_be_asked)
    draws = generator.random((3, len(able)))
    number = min(max(1, int(SHARE * len(able) + generator.random())), len(able))
    chosen = np.argsort(draws[0], kind="stable")[:number]
    fate = draws[1][chosen]
    pieces = np.flatnonzero(ordinary)
    random = pieces[(draws[2][chosen] * len(pieces)).astype(np.int64)]
    shown = ids.copy()
    shown[able[chosen]] = np.where(fate < MASKED, mask, np.where(fate < MASKED + RANDOM, random, ids[able[chosen]]))
    return shown, np.sort(able[chosen])
