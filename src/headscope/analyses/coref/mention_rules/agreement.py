"""Number, gender and person of English mentions, from a list of words (`data/agreement.json`).

A feature that the list does not determine stays open, and agrees with anything.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8
from numpy.typing import NDArray

from headscope.analyses.coref.mention_table import MENTION_TYPES, MentionTable

# A feature is a set of possible values, one bit each.
NUMBERS, GENDERS, PERSONS = "sp", "mfn", "123"
_PROPER = MENTION_TYPES.index("proper")
_SINGULAR_ENDINGS = ("ss", "us", "is", "'s", "’s")


@dataclass(frozen=True)
class Lexicon:
    """Lower-cased words and their features.

    Attributes:
        pronouns: number, gender and person of each pronoun, as letters.
        titles: gender of words before a name.
        persons: gender of singular nouns for people.
        plurals: gender of irregular plurals and of plural titles.
        names: gender of first names.
        things: singular nouns for things.
        singular_s: words that end in s and are singular.
        plural_words, singular_words: first words of a mention that determine its number.
    """

    pronouns: Mapping[str, tuple[str, str, str]]
    titles: Mapping[str, str]
    persons: Mapping[str, str]
    plurals: Mapping[str, str]
    names: Mapping[str, str]
    things: frozenset[str]
    singular_s: frozenset[str]
    plural_words: frozenset[str]
    singular_words: frozenset[str]


@cache
def lexicon() -> Lexicon:
    """Return the word list, which is read once."""
    text = resources.files("headscope").joinpath("data/agreement.json").read_text(encoding="utf-8")
    raw = json.loads(text)

    def genders(name: str) -> dict[str, str]:
        return {word: gender for gender, words in raw[name].items() for word in words}

    lists: dict[str, Any] = {
        "pronouns": {word: tuple(code.split()) for word, code in raw["pronouns"].items()},
        **{name: genders(name) for name in ("titles", "persons", "plurals", "names")},
        **{name: frozenset(raw[name]) for name in ("things", "singular_s", "plural_words", "singular_words")},
    }
    return Lexicon(**lists)


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
        return known.pronouns[noun]
    if "and" in lowered[: head + 2]:
        return "p", GENDERS, "3"
    return _number(lowered, noun, named=named), _gender(lowered, head, named=named), "3"


def features_of(words: Sequence[str], table: MentionTable) -> UInt8[np.ndarray, "mention 3"]:
    """Return the number, gender and person of a window's mentions as sets of bits."""
    features = np.zeros((len(table), 3), dtype=np.uint8)
    named = (table.types == _PROPER).tolist()
    known: dict[tuple[int, int, int, bool], tuple[int, ...]] = {}  # several entities may have the same words
    for index, row in enumerate(zip(table.starts.tolist(), table.ends.tolist(), table.heads.tolist(), named)):
        if row not in known:
            start, end, head, name = row
            letter_sets = describe(words[start:end], head - start, named=name)
            known[row] = tuple(
                sum(1 << values.index(letter) for letter in letters)
                for values, letters in zip((NUMBERS, GENDERS, PERSONS), letter_sets)
            )
        features[index] = known[row]
    return features


def agreement(
    mentions: UInt8[np.ndarray, "mention 3"], others: UInt8[np.ndarray, "other 3"]
) -> Bool[np.ndarray, "mention other"]:
    """Mark the pairs that have a number, a gender and a person in common, `[mention, other]`."""
    agrees: NDArray[np.bool_] = ((mentions[:, None] & others[None]) != 0).all(2)
    return agrees


def _number(lowered: list[str], noun: str, *, named: bool) -> str:
    known = lexicon()
    if noun in known.plurals or lowered[0] in known.plurals:
        return "p"
    if noun in known.persons or noun in known.things or noun in known.singular_s:
        return "s"
    if lowered[0] in known.plural_words:
        return "p"
    if lowered[0] in known.singular_words:
        return "s"
    if not noun.endswith("s") or noun.endswith(_SINGULAR_ENDINGS):
        return "s"
    # `Hastings` may be singular, `the Hastings` are plural.
    return NUMBERS if named and lowered[0] != "the" else "p"


def _gender(lowered: list[str], head: int, *, named: bool) -> str:
    known = lexicon()
    noun = lowered[head]
    if named:
        tables = (known.titles, known.names)
        genders = [table[word] for table in tables for word in lowered[: head + 1] if word in table]
        # In `Dr Mary Malone` the title leaves the gender open, and the name determines it.
        if genders:
            return next((gender for gender in genders if gender != "mf"), "mf")
    for form in _singulars(noun):
        for table in (known.plurals, known.persons):
            if form in table:
                return table[form]
        if form in known.things:
            return "n"
    return GENDERS


def _singulars(noun: str) -> list[str]:
    """Return a noun and its possible singulars."""
    forms = [noun]
    if noun.endswith("ies"):
        forms.append(noun[:-3] + "y")
    if noun.endswith("es"):
        forms.append(noun[:-2])
    if noun.endswith("s"):
        forms.append(noun[:-1])
    return forms
