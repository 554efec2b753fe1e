"""Who may be a mention's antecedent, which mentions count, and what is right (section 4.3).

Mentions are ordered by their start, longer ones first. The candidates of a mention with head word h are the
earlier mentions in that order whose head word stands left of h. A mention counts if a candidate is of its
entity. A head is right if the candidate head word that h attends to most heads a mention of that entity.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import NDArray


def mention_order(
    starts: Int[np.ndarray, " mention"], ends: Int[np.ndarray, " mention"]
) -> NDArray[np.int64]:
    """Return the mentions' places in order: by start, longer first, `[mention]`."""
    return np.lexsort((-ends, starts)).astype(np.int64)


def candidate_pairs(
    heads: Int[np.ndarray, " mention"], allowed: Bool[np.ndarray, " mention"]
) -> Bool[np.ndarray, "mention mention"]:
    """Say who is a candidate of whom, `[mention, candidate]`.

    Args:
        heads: position of each mention's head word; the mentions are in order (`mention_order`).
        allowed: which mentions may be candidates at all (all, or those of entities with several mentions).
    """
    at = np.arange(len(heads))
    earlier = at[None, :] < at[:, None]
    pairs: NDArray[np.bool_] = earlier & (heads[None, :] < heads[:, None]) & allowed[None, :]
    return pairs


def counted(
    candidates: Bool[np.ndarray, "mention mention"], entities: Int[np.ndarray, " mention"]
) -> Bool[np.ndarray, " mention"]:
    """Say which mentions have a candidate of their own entity, `[mention]`."""
    found: NDArray[np.bool_] = (candidates & (entities[None, :] == entities[:, None])).any(1)
    return found


def candidate_words(
    candidates: Bool[np.ndarray, "mention candidate"], heads: Int[np.ndarray, " candidate"], words: int
) -> Bool[np.ndarray, "mention word"]:
    """Say which words head a candidate, `[mention, word]`; several mentions may share a head word."""
    chosen = np.zeros((len(candidates), words), dtype=bool)
    mention, candidate = np.nonzero(candidates)
    chosen[mention, heads[candidate]] = True
    return chosen


def right_words(
    candidates: Bool[np.ndarray, "mention word"],
    entities: Int[np.ndarray, " mention"],
    heads: Int[np.ndarray, " other"],
    other_entities: Int[np.ndarray, " other"],
) -> Bool[np.ndarray, "mention word"]:
    """Say which candidate head words head a mention of the mention's entity, `[mention, word]`.

    Args:
        candidates: candidate head words of some mentions, from `candidate_words`.
        entities: the entities of those mentions.
        heads: head words of all mentions.
        other_entities: entities of all mentions.
    """
    mention, other = np.nonzero(entities[:, None] == other_entities[None, :])
    heading: NDArray[np.bool_] = np.zeros(candidates.shape, dtype=bool)
    heading[mention, heads[other]] = True
    right: NDArray[np.bool_] = heading & candidates
    return right
