"""The mentions of a window as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.antecedents import (
    candidate_words,
    counted,
    first_headed,
    mention_order,
    right_words,
)

FIELD = "mentions"
MENTION_TYPES = ("all", "pronoun", "proper", "nominal")


@dataclass(frozen=True, eq=False)
class Mentions:
    """Mentions in order (by start, longer first), positions in words.

    Attributes:
        starts, ends: first word, and the word after the last, `[mention]`.
        heads: head word, `[mention]`.
        entities: whose mention it is, by number, `[mention]`.
        types: index in `MENTION_TYPES`, `[mention]`.
        allowed: which may be candidates, `[mention]`.
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
        asked: the mentions that count, `[asked]`.
        candidate_words: head words of their candidates, `[asked, word]`.
        right_words: which of those head a mention of the entity, `[asked, word]`.
    """

    asked: NDArray[np.int64]
    candidate_words: NDArray[np.bool_]
    right_words: NDArray[np.bool_]

    @property
    def asked_heads(self) -> NDArray[np.int64]:
        """Head words of the mentions that count, `[asked]`."""
        return self.heads[self.asked]

    @property
    def asked_types(self) -> NDArray[np.bool_]:
        """Which of `MENTION_TYPES` each mention that counts is, `[asked, type]`: `all` and its own."""
        own: NDArray[np.bool_] = self.types[self.asked, None] == np.arange(len(MENTION_TYPES))
        own[:, 0] = True
        return own


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
    """Order mentions and find who may be whose antecedent.

    Args:
        starts, ends, heads, entities, types: as `MentionTable` has them, in any order.
        words: how many words there are.
        allowed: which mentions may be candidates; all when None.
    """
    order = mention_order(starts, ends)
    starts, ends, heads, entities, types = (a[order] for a in (starts, ends, heads, entities, types))
    may = np.ones(len(heads), dtype=bool) if allowed is None else allowed[order]
    asked = np.flatnonzero(counted(heads, entities, may))
    heading = candidate_words(first_headed(heads, may, words), asked, heads[asked])
    return MentionTable(
        starts=starts,
        ends=ends,
        heads=heads,
        entities=entities,
        types=types,
        allowed=may,
        asked=asked,
        candidate_words=heading,
        right_words=right_words(heading, entities[asked], heads, entities),
    )
