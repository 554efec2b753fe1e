"""The mentions of a window as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.antecedents import (
    candidate_words,
    first_headed,
    mention_order,
    right_words,
    with_antecedent,
)

FIELD = "mentions"
MENTION_TYPES = ("all", "pronoun", "proper", "nominal")


@dataclass(frozen=True, eq=False)
class Mentions:
    """Mentions in order (by start, longer first); positions count words.

    Attributes:
        starts, ends: first word, and the word after the last, `[mention]`.
        heads: head word, `[mention]`.
        entities: number of the mention's entity, `[mention]`.
        types: index in `MENTION_TYPES`, `[mention]`.
        allowed: True for mentions that may be candidates, `[mention]`.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    heads: NDArray[np.int64]
    entities: NDArray[np.int64]
    types: NDArray[np.int64]
    allowed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.heads)


@dataclass(frozen=True, eq=False)
class MentionTable(Mentions):
    """The mentions of a window; positions count from the window's first word.

    Attributes:
        scored: indices of the mentions that are scored, `[scored]`.
        candidate_words: True for head words of their candidates, `[scored, word]`.
        right_words: True for those that are head words of a mention of the same entity, `[scored, word]`.
    """

    scored: NDArray[np.int64]
    candidate_words: NDArray[np.bool_]
    right_words: NDArray[np.bool_]

    @property
    def scored_heads(self) -> NDArray[np.int64]:
        """Head words of the scored mentions, `[scored]`."""
        return self.heads[self.scored]

    @property
    def scored_types(self) -> NDArray[np.bool_]:
        """True for each of `MENTION_TYPES` that a scored mention has, `[scored, type]`: `all` and its own type."""
        is_type: NDArray[np.bool_] = self.types[self.scored, None] == np.arange(len(MENTION_TYPES))
        is_type[:, 0] = True
        return is_type


def mention_table(
    *,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    heads: NDArray[np.int64],
    entities: NDArray[np.int64],
    types: NDArray[np.int64],
    words: int,
    allowed: NDArray[np.bool_] | None = None,
) -> MentionTable:
    """Order mentions and find the candidates for their antecedents.

    Args:
        starts, ends, heads, entities, types: as in `MentionTable`, in any order.
        words: number of words.
        allowed: True for mentions that may be candidates; all mentions when None.
    """
    order = mention_order(starts, ends)
    starts, ends, heads, entities, types = (a[order] for a in (starts, ends, heads, entities, types))
    is_allowed = np.ones(len(heads), dtype=bool) if allowed is None else allowed[order]
    scored = np.flatnonzero(with_antecedent(heads, entities, is_allowed))
    heading = candidate_words(first_headed(heads, is_allowed, words), scored, heads[scored])
    return MentionTable(
        starts=starts,
        ends=ends,
        heads=heads,
        entities=entities,
        types=types,
        allowed=is_allowed,
        scored=scored,
        candidate_words=heading,
        right_words=right_words(heading, entities[scored], heads, entities),
    )
