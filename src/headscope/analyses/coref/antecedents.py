"""Who may be a mention's antecedent, which mentions count, and what is right (section 4.3).

Mentions are ordered by their start, longer ones first. The candidates of a mention with head word h are the
earlier mentions in that order whose head word stands left of h. A mention counts if a candidate is of its
entity. A head is right if the candidate head word that h attends to most heads a mention of that entity.

Nothing here holds every pair of mentions: one window may have a hundred thousand of them on the same few words. A
word heads a candidate of a mention if the first mention that it heads comes earlier and it stands left, so one
number a word says who the candidates are of all.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import NDArray


def mention_order(
    starts: Int[np.ndarray, " mention"], ends: Int[np.ndarray, " mention"]
) -> NDArray[np.int64]:
    """Return the mentions' places in order: by start, longer first, `[mention]`."""
    return np.lexsort((-ends, starts)).astype(np.int64)


def first_headed(
    heads: Int[np.ndarray, " mention"], allowed: Bool[np.ndarray, " mention"], words: int
) -> NDArray[np.int64]:
    """Return the place of the first mention that each word heads, the number of mentions for none, `[word]`.

    Args:
        heads: position of each mention's head word; the mentions are in order (`mention_order`).
        allowed: which mentions may be candidates at all (all, or those of entities with several mentions).
        words: how many words there are.
    """
    first = np.full(words, len(heads), dtype=np.int64)
    may = np.flatnonzero(allowed)
    np.minimum.at(first, heads[may], may)
    return first


def candidate_words(
    first: Int[np.ndarray, " word"], places: Int[np.ndarray, " asked"], heads: Int[np.ndarray, " asked"]
) -> Bool[np.ndarray, "asked word"]:
    """Say which words head a candidate, `[asked, word]`; several mentions may share a head word.

    Args:
        first: from `first_headed`.
        places: of the mentions asked about, in the order of all.
        heads: their head words.
    """
    left = np.arange(len(first)) < heads[:, None]
    left &= first < places[:, None]
    return left


def counted(
    heads: Int[np.ndarray, " mention"],
    entities: Int[np.ndarray, " mention"],
    allowed: Bool[np.ndarray, " mention"],
) -> NDArray[np.bool_]:
    """Say which mentions have a candidate of their own entity, `[mention]`; they are in order."""
    found = np.zeros(len(heads), dtype=bool)
    leftmost: dict[int, int] = {}  # head word of an earlier mention of each entity
    for place, (head, entity, may) in enumerate(zip(heads.tolist(), entities.tolist(), allowed.tolist())):
        found[place] = leftmost.get(entity, head) < head
        if may:
            leftmost[entity] = min(leftmost.get(entity, head), head)
    return found


def right_words(
    candidates: Bool[np.ndarray, "asked word"],
    entities: Int[np.ndarray, " asked"],
    heads: Int[np.ndarray, " other"],
    other_entities: Int[np.ndarray, " other"],
) -> Bool[np.ndarray, "asked word"]:
    """Say which candidate head words head a mention of the mention's entity, `[asked, word]`.

    Args:
        candidates: candidate head words of some mentions, from `candidate_words`.
        entities: the entities of those mentions.
        heads: head words of all mentions.
        other_entities: entities of all mentions.
    """
    names, numbers = np.unique(other_entities, return_inverse=True)
    heading = np.zeros((len(names), candidates.shape[1]), dtype=bool)
    heading[numbers.reshape(-1), heads] = True
    right: NDArray[np.bool_] = heading[np.searchsorted(names, entities)]
    right &= candidates
    return right
