"""Baselines that choose an antecedent without attention, among the same candidates (section 4.3)."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from importlib import resources
from types import SimpleNamespace

import numpy as np
from jaxtyping import Bool, UInt8
from numpy.typing import NDArray

from headscope.analyses.coref.mentions import MENTION_TYPES, MentionTable, candidate_words, first_headed

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
    agrees = agreement(profiles, profiles)
    # Mentions with the same number, gender and person agree with the same candidates.
    for profile in np.unique(profile_of[table.scored]):
        rows = np.flatnonzero(profile_of[table.scored] == profile)
        first = first_headed(table.heads, table.allowed & agrees[profile][profile_of], table.candidate_words.shape[1])
        indices = table.scored[rows]
        answers[rows] = _rightmost(candidate_words(first, indices, table.heads[indices]))
    return answers


# A feature is a set of possible values, one bit each.
NUMBERS, GENDERS, PERSONS = _VALUES = "sp", "mfn", "123"
_PROPER = MENTION_TYPES.index("proper")
_PLURALS = (("ies", "y"), ("es", ""), ("s", ""))
_SINGULAR_ENDINGS = ("ss", "us", "is", "'s", "’s")


@cache
def lexicon() -> SimpleNamespace:
    """Return the lower-cased words of `data/agreement.json`, which is read once.

    Returns:
        `pronouns`: number, gender and person of each, as letters. Genders of `titles`, of `persons` (singular nouns for
        people), `plurals` (irregular ones, and plural titles) and first `names`. Sets of `things` (singular nouns), of
        `singular_s` (singular words that end in s), and of first words of a mention that determine its number,
        `plural_words` and `singular_words`.
    """
    text = resources.files("headscope").joinpath("data/agreement.json").read_text(encoding="utf-8")
    lists = {name: words for name, words in json.loads(text).items() if name != "about"}
    pronouns = {word: tuple(code.split()) for word, code in lists.pop("pronouns").items()}
    genders = {
        name: {word: gender for gender, words in words_by_gender.items() for word in words}
        for name, words_by_gender in lists.items()
        if isinstance(words_by_gender, dict)
    }
    sets = {name: frozenset(words) for name, words in lists.items() if isinstance(words, list)}
    return SimpleNamespace(pronouns=pronouns, **genders, **sets)


def describe(words: Sequence[str], head: int, *, named: bool) -> tuple[str, str, str]:
    """Return the possible numbers, genders and persons of a mention, as letters.

    A pronoun has the features in the list. Other mentions are third person; `and` before the head or right after it
    makes a mention plural; else number follows the list, the mention's first word, and the ending -s. Gender follows a
    title, the head noun (a plural as its singular), then a first name.

    Args:
        words: words of the mention.
        head: position of its head word in them.
        named: True if the mention is a name.
    """
    known = lexicon()
    lowered = [word.lower() for word in words]
    noun = lowered[head]
    if not named and noun in known.pronouns:  # `US` is a name
        number, gender, person = known.pronouns[noun]
        return number, gender, person
    if "and" in lowered[: head + 2]:
        return "p", GENDERS, "3"
    return _number(lowered, noun, named=named), _gender(lowered, head, named=named), "3"


def features_of(words: Sequence[str], table: MentionTable) -> UInt8[np.ndarray, "mention 3"]:
    """Return the number, gender and person of a window's mentions as sets of bits."""
    columns = (table.starts, table.ends, table.heads, table.types == _PROPER)
    # Several entities may have the same words.
    distinct, row_of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    letter_sets = [
        describe(words[start:end], head - start, named=bool(named)) for start, end, head, named in distinct.tolist()
    ]
    features = [
        [sum(1 << values.index(letter) for letter in letters) for values, letters in zip(_VALUES, each, strict=True)]
        for each in letter_sets
    ]
    return np.array(features, dtype=np.uint8).reshape(-1, 3)[row_of]


def agreement(
    mentions: UInt8[np.ndarray, "mention 3"], others: UInt8[np.ndarray, "other 3"]
) -> Bool[np.ndarray, "mention other"]:
    """Mark the pairs that have a number, a gender and a person in common, `[mention, other]`."""
    agrees: NDArray[np.bool_] = ((mentions[:, None] & others[None]) != 0).all(2)
    return agrees


def _number(lowered: list[str], noun: str, *, named: bool) -> str:
    known = lexicon()
    rules = (
        ("p", noun in known.plurals or lowered[0] in known.plurals),
        ("s", noun in known.persons or noun in known.things or noun in known.singular_s),
        ("p", lowered[0] in known.plural_words),
        ("s", lowered[0] in known.singular_words or not noun.endswith("s") or noun.endswith(_SINGULAR_ENDINGS)),
    )
    # `Hastings` may be singular, `the Hastings` are plural.
    otherwise = NUMBERS if named and lowered[0] != "the" else "p"
    return next((number for number, applies in rules if applies), otherwise)


def _gender(lowered: list[str], head: int, *, named: bool) -> str:
    known = lexicon()
    noun = lowered[head]
    if named:
        tables = (known.titles, known.names)
        genders = [table[word] for table in tables for word in lowered[: head + 1] if word in table]
        # In `Dr Mary Malone` the title leaves the gender open, and the name determines it.
        if genders:
            return next((gender for gender in genders if gender != "mf"), "mf")
    # the noun, and its possible singulars
    forms = [noun, *(noun.removesuffix(end) + more for end, more in _PLURALS if noun.endswith(end))]
    for form in forms:
        for table in (known.plurals, known.persons):
            if form in table:
                return str(table[form])
        if form in known.things:
            return "n"
    return GENDERS
