"""Ways to choose an antecedent without attention, among the same candidates (section 4.3)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.heads.mention_table import MentionTable
from headscope.heads.rules import agreement, features_of

NEAREST, HEAD_MATCH, HEAD_MATCH_ELSE_NEAREST, RULES = BASELINES = (
    "nearest",
    "head match",
    "head match, else nearest",
    "rules",
)


def baseline_hits(words: Sequence[str], table: MentionTable) -> NDArray[np.bool_]:
    """Say which mentions that count each baseline is right about, `[BASELINES, asked]`.

    Every baseline names one candidate head word, and is right if that heads a mention of the entity, as heads
    are. `nearest`: the rightmost. `head match`: the nearest that is the same word as the mention's own head,
    case apart; none: wrong. `rules`: the nearest that passes the first of four sieves that any passes: the same
    string; the same head word; agreement in number, gender and person; any.

    Args:
        words: of the window.
        table: its mentions.
    """
    chosen = choices(words, table)
    right = table.right_words[np.arange(len(table.asked)), chosen.clip(min=0)]
    hits: NDArray[np.bool_] = right & (chosen >= 0)
    return hits


def choices(words: Sequence[str], table: MentionTable) -> NDArray[np.int64]:
    """Return the head word that each baseline names for each mention, -1 for none, `[BASELINES, asked]`."""
    lowered = [word.lower() for word in words]
    strings = np.array([" ".join(lowered[s:e]) for s, e in zip(table.starts, table.ends)], dtype=str)
    heads = np.array([lowered[head] for head in table.heads], dtype=str)
    features = features_of(words, table)
    asked = table.asked
    candidates = table.candidates[asked]
    same_string = candidates & (strings[asked, None] == strings)
    same_head = candidates & (heads[asked, None] == heads)
    agreeing = candidates & agreement(features[asked], features)
    nearest = _rightmost(candidates, table.heads)
    matched = _rightmost(same_head, table.heads)
    rules = _rightmost(same_string, table.heads)
    for sieve in (matched, _rightmost(agreeing, table.heads), nearest):
        rules = np.where(rules >= 0, rules, sieve)
    return np.stack([nearest, matched, np.where(matched >= 0, matched, nearest), rules])


def _rightmost(chosen: NDArray[np.bool_], heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rightmost head word of the chosen candidates, -1 where there is none, `[asked]`."""
    rightmost: NDArray[np.int64] = np.where(chosen, heads, -1).max(axis=1, initial=-1)
    return rightmost
