"""The mentions of a window as arrays, the candidates for their antecedents, and the right candidates (section 4.3)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import NDArray

from headscope.encoding.segment import Segment
from headscope.scans.examples.arc_examples import ArcQuestion, WantedHead

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

    def select(self, indices: NDArray[np.int64], *, start: int) -> "Mentions":
        """Return some mentions, with positions that count from word `start`."""
        starts, ends, heads = (each[indices] - start for each in (self.starts, self.ends, self.heads))
        return Mentions(starts, ends, heads, self.entities[indices], self.types[indices], self.allowed[indices])


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


def mention_table(mentions: Mentions, words: int) -> MentionTable:
    """Find the candidates for the antecedents of a window's mentions.

    Args:
        mentions: mentions of the window.
        words: number of words.
    """
    heads, entities = mentions.heads, mentions.entities
    scored = np.flatnonzero(with_antecedent(heads, entities, mentions.allowed))
    candidates = candidate_words(first_headed(heads, mentions.allowed, words), scored, heads[scored])
    # For each entity, its head words.
    names, numbers = np.unique(entities, return_inverse=True)
    heading = np.zeros((len(names), words), dtype=bool)
    heading[numbers, heads] = True
    right = heading[numbers[scored]] & candidates
    return MentionTable(**vars(mentions), scored=scored, candidate_words=candidates, right_words=right)


def first_headed(
    heads: Int[np.ndarray, " mention"], allowed: Bool[np.ndarray, " mention"], words: int
) -> NDArray[np.int64]:
    """Return the index of the first mention of each head word, the number of mentions for other words, `[word]`.

    Args:
        heads: position of each mention's head word; the mentions are in order.
        allowed: True for mentions that may be candidates (all, or those of entities with several mentions).
        words: number of words.
    """
    first = np.full(words, len(heads), dtype=np.int64)
    indices = np.flatnonzero(allowed)
    np.minimum.at(first, heads[indices], indices)
    return first


def candidate_words(
    first: Int[np.ndarray, " word"], indices: Int[np.ndarray, " scored"], heads: Int[np.ndarray, " scored"]
) -> Bool[np.ndarray, "scored word"]:
    """Mark the head words of candidates, `[scored, word]`; several mentions may share a head word.

    Args:
        first: from `first_headed`.
        indices: indices of the scored mentions among all mentions.
        heads: head words of the scored mentions.
    """
    left = np.arange(len(first)) < heads[:, None]
    left &= first < indices[:, None]
    return left


def with_antecedent(
    heads: Int[np.ndarray, " mention"], entities: Int[np.ndarray, " mention"], allowed: Bool[np.ndarray, " mention"]
) -> NDArray[np.bool_]:
    """Mark the mentions that have a candidate of their own entity, `[mention]`; mentions are in order."""
    answerable = np.zeros(len(heads), dtype=bool)
    # The leftmost head word of the earlier mentions of each entity.
    leftmost: dict[int, int] = {}
    for index, (head, entity, is_candidate) in enumerate(zip(heads.tolist(), entities.tolist(), allowed.tolist())):
        answerable[index] = leftmost.get(entity, head) < head
        if is_candidate:
            leftmost[entity] = min(leftmost.get(entity, head), head)
    return answerable


def coreference_questions(wanted: WantedHead, segment: Segment) -> list[ArcQuestion]:
    """Return a question on the antecedent of each scored mention."""
    table: MentionTable | None = segment.fields.get(FIELD)
    if table is None:
        return []
    return [
        ArcQuestion(int(word), tuple(np.flatnonzero(gold).tolist()), tuple(np.flatnonzero(candidates).tolist()))
        for word, gold, candidates in zip(table.scored_heads, table.right_words, table.candidate_words, strict=True)
    ]
