"""Baselines that choose an antecedent without attention, among the same candidates (section 4.3)."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.antecedents import candidate_words, first_headed
from headscope.analyses.coref.mention_rules.agreement import agreement, features_of
from headscope.analyses.coref.mention_table import MentionTable

BASELINES = ("nearest", "head match", "head match, else nearest", "rules")


def baseline_hits(words: Sequence[str], table: MentionTable) -> NDArray[np.bool_]:
    """Mark the scored mentions for which each baseline is right, `[BASELINES, scored]`.

    Every baseline names one candidate head word, and is right if that word is the head word of a mention of the entity,
    as for an attention head. `nearest`: the rightmost candidate. `head match`: the nearest candidate with the same
    head word as the mention, ignoring case; the baseline is wrong if there is none. `rules`: the nearest candidate that
    passes the first of four sieves that any candidate passes: the same string; the same head word; agreement in number,
    gender and person; any.

    Args:
        words: words of the window.
        table: mentions of the window.
    """
    chosen = choices(words, table)
    right = table.right_words[np.arange(len(table.scored)), chosen.clip(min=0)]
    hits: NDArray[np.bool_] = right & (chosen >= 0)
    return hits


def choices(words: Sequence[str], table: MentionTable) -> NDArray[np.int64]:
    """Return the head word that each baseline names for each mention, -1 for none, `[BASELINES, scored]`."""
    candidates = table.candidate_words
    forms: dict[str, int] = {}
    lowered = [word.lower() for word in words[: candidates.shape[1]]]
    same = np.array([forms.setdefault(word, len(forms)) for word in lowered], dtype=np.int64)
    nearest = _rightmost(candidates)
    matched = _rightmost(candidates & (same == same[table.scored_heads, None]))
    rules = _same_string(lowered, table)
    for sieve in (matched, _agreeing(words, table), nearest):
        rules = np.where(rules >= 0, rules, sieve)
    return np.stack([nearest, matched, np.where(matched >= 0, matched, nearest), rules])


def _rightmost(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rightmost of the chosen words, -1 where there is none, `[scored]`."""
    if not chosen.shape[1]:
        return np.full(len(chosen), -1, dtype=np.int64)
    last = chosen.shape[1] - 1 - chosen[:, ::-1].argmax(axis=1)
    return np.where(chosen.any(axis=1), last, -1).astype(np.int64)


def _same_string(lowered: Sequence[str], table: MentionTable) -> NDArray[np.int64]:
    """Return the rightmost head word of candidates with the mention's text, -1 for none, `[scored]`."""
    answers = np.full(len(table), -1, dtype=np.int64)
    # The head words of the earlier candidates, ascending, by the lower-cased text of the candidate.
    heads_by_text: dict[str, list[int]] = {}
    rows = zip(table.starts.tolist(), table.ends.tolist(), table.heads.tolist(), table.allowed.tolist())
    for index, (start, end, head, allowed) in enumerate(rows):
        before = heads_by_text.setdefault(" ".join(lowered[start:end]), [])
        at = bisect_left(before, head)
        if at:
            answers[index] = before[at - 1]
        if allowed and before[at : at + 1] != [head]:
            before.insert(at, head)
    return answers[table.scored]


def _agreeing(words: Sequence[str], table: MentionTable) -> NDArray[np.int64]:
    """Return the rightmost head word of the candidates that agree with the mention, -1 for none, `[scored]`."""
    answers = np.full(len(table.scored), -1, dtype=np.int64)
    profiles, profile_of = np.unique(features_of(words, table), axis=0, return_inverse=True)
    profile_of = profile_of.reshape(-1)
    agrees = agreement(profiles, profiles)
    # Mentions with the same number, gender and person agree with the same candidates.
    for profile in np.unique(profile_of[table.scored]):
        rows = np.flatnonzero(profile_of[table.scored] == profile)
        first = first_headed(table.heads, table.allowed & agrees[profile][profile_of], table.candidate_words.shape[1])
        indices = table.scored[rows]
        answers[rows] = _rightmost(candidate_words(first, indices, table.heads[indices]))
    return answers
