"""Regular English forms: plurals, verb endings, comparison, `a` or `an`."""

from itertools import pairwise

_VOWELS = "aeiou"
_SILENT_H = ("hour", "honest")
_LIKE_YOU = ("useful", "useless", "uni", "europ")


def plural(noun: str) -> str:
    """Return the regular plural: `box` -> `boxes`, `city` -> `cities`."""
    return _with_s(noun)


def third_person(verb: str) -> str:
    """Return the form after `she` in the present: `carry` -> `carries`."""
    return _with_s(verb)


def _with_s(stem: str) -> str:
    if stem.endswith(("s", "x", "z", "ch", "sh")) or stem in ("go", "do"):
        return stem + "es"
    if stem.endswith("y") and stem[-2] not in _VOWELS:
        return stem[:-1] + "ies"
    return stem + "s"


def past(verb: str) -> str:
    """Return the regular past and participle: `plan` -> `planned`, `travel` -> `travelled`."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def gerund(verb: str) -> str:
    """Return the form in -ing: `drive` -> `driving`, `sit` -> `sitting`."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _doubled(stem: str) -> str:
    """Double the last consonant after one stressed vowel: short stems, and those in -l and -ref."""
    short = len(stem) >= 3 and stem[-1] not in _VOWELS + "wxy" and stem[-2] in _VOWELS
    if not short or stem[-3] in _VOWELS:
        return stem
    one_syllable = sum(letter in _VOWELS for letter in stem) == 1
    return stem + stem[-1] if one_syllable or stem in ("travel", "cancel", "begin", "forget", "admit") else stem


def comparative(adjective: str) -> str | None:
    """Return the form in -er, or None where English says `more`."""
    return _graded(adjective, "er")


def superlative(adjective: str) -> str | None:
    """Return the form in -est, or None where English says `most`."""
    return _graded(adjective, "est")


def _graded(adjective: str, ending: str) -> str | None:
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    if adjective == "clever":
        return adjective + ending
    groups = sum(letter in _VOWELS and before not in _VOWELS for before, letter in pairwise(" " + adjective))
    if groups > 1:
        return None
    return _doubled(adjective) + ending


def article(following: str) -> str:
    """Return `a` or `an`, by the sound of the word that follows."""
    lower = following.lower()
    if lower.startswith(_SILENT_H):
        return "an"
    return "a" if lower[0] not in _VOWELS or lower.startswith(_LIKE_YOU) else "an"
