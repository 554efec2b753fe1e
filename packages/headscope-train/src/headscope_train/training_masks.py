"""Masks for training: which tokens are asked for, and what the model sees in their place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARE = 0.15
MASKED, RANDOM = 0.8, 0.1  # of the tokens asked for; the rest stay as they are
_HELD_OUT = (1 << 64) - 1  # an epoch that training never reaches


@dataclass(frozen=True)
class Masker:
    """Draw masks with a tokenizer's mask token.

    Attributes:
        ordinary: whether an id stands for text, and not for a special token, `[id]`.
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
        """Return what the model sees of an input, `[token]`, and the places of the tokens asked for.

        Drawn from the input's key and the epoch alone, so that neither the batch nor a stop and a new start
        changes anything; None is the one draw for measuring.
        """
        seeds = np.array([key, _HELD_OUT if epoch is None else epoch], dtype=np.uint64)
        generator = np.random.Generator(np.random.Philox(key=seeds))
        return mask_tokens(ids, self.ordinary[ids], self.ordinary, mask=self.mask, generator=generator)


def ordinary_pieces(tokenizer: Any) -> NDArray[np.bool_]:
    """Return whether an id of a transformers tokenizer stands for text, and not for a special token, `[id]`."""
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
    """Choose 15% of an input's ordinary tokens; show the mask for 80% of them, a random piece for 10%.

    The number is rounded up or down at random, so that the share is right on average, but one token is asked for in
    the shortest of inputs.

    Args:
        ids: token ids, `[token]`.
        may_be_asked: whether a token is no special one, `[token]`.
        ordinary: whether an id is that of an ordinary piece, `[id]`; random pieces are drawn from these alike.
        mask: the mask token's id.
        generator: of the draws.

    Returns:
        The ids shown, `[token]`, and the places asked for in ascending order, `[asked]`; empty where no token may be.
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
