"""The candidates for a mention's antecedent, the mentions that are scored, and the right candidates (section 4.3).

Mentions are ordered by their start, longer ones first. The candidates of a mention with head word h are the earlier
mentions in that order whose head word is left of h. A mention is scored if one of its candidates has the same entity.
An attention head is right if the candidate head word to which h attends most is the head word of a mention of that
entity.

No array holds every pair of mentions, because one window may have a hundred thousand mentions on the same few words.
A word is the head word of a candidate if the first mention with this head word comes earlier and the word is left of
h, so one number per word determines the candidates of all mentions.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import NDArray


def mention_order(starts: Int[np.ndarray, " mention"], ends: Int[np.ndarray, " mention"]) -> NDArray[np.int64]:
    """Return the indices that order the mentions by start, longer mentions first, `[mention]`."""
    return np.lexsort((-ends, starts)).astype(np.int64)


def first_headed(
    heads: Int[np.ndarray, " mention"], allowed: Bool[np.ndarray, " mention"], words: int
) -> NDArray[np.int64]:
    """Return the index of the first mention of each head word, the number of mentions for other words, `[word]`.

    Args:
        heads: position of each mention's head word; the mentions are in order (`mention_order`).
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


def right_words(
    candidates: Bool[np.ndarray, "scored word"],
    entities: Int[np.ndarray, " scored"],
    heads: Int[np.ndarray, " other"],
    other_entities: Int[np.ndarray, " other"],
) -> Bool[np.ndarray, "scored word"]:
    """Mark the candidate head words that are head words of a mention of the same entity, `[scored, word]`.

    Args:
        candidates: candidate head words of some mentions, from `candidate_words`.
        entities: entities of those mentions.
        heads: head words of all mentions.
        other_entities: entities of all mentions.
    """
    names, numbers = np.unique(other_entities, return_inverse=True)
    heading = np.zeros((len(names), candidates.shape[1]), dtype=bool)
    heading[numbers.reshape(-1), heads] = True
    right: NDArray[np.bool_] = heading[np.searchsorted(names, entities)]
    right &= candidates
    return right
