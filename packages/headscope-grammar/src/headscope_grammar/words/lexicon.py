"""The lexicon: nouns by kind, verbs with the kinds of things that they take, adjectives by what they fit."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from headscope_grammar.words import inflection


@dataclass(frozen=True, kw_only=True)
class Noun:
    """A noun: its two forms, its kind, and for places how one is there."""

    lemma: str
    plural: str
    kind: str
    locative: str = ""
    indoors: bool = False


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A verb with what it takes.

    Attributes:
        verb: its lemma.
        subject, object: the kinds of things that fill them; no object when empty.
        preposition: that introduces the object, where the object is oblique.
        particle: of a phrasal verb.
        uses: letters, as the lexicon's `about` lists them.
    """

    verb: str
    subject: tuple[str, ...] = ("person",)
    object: tuple[str, ...] = ()
    preposition: str = ""
    particle: str = ""
    uses: str = ""


@cache
def raw() -> dict[str, Any]:
    """Return the lexicon's file as it stands."""
    text = (files("headscope_grammar.words") / "lexicon.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


@cache
def words(*path: str) -> tuple[str, ...]:
    """Return a list of words of the lexicon by its place: `words("adjectives", "place")`."""
    at: Any = raw()
    for key in path:
        at = at[key]
    return tuple(at) if isinstance(at, dict) else tuple(at.split())


@cache
def nouns(kind: str) -> tuple[Noun, ...]:
    """Return the count nouns of a kind; `role`, `people` and `place` are kinds too, and kin by sex."""
    if kind == "place":
        triples = (entry.split(":") for entry in words("places"))
        return tuple(
            Noun(lemma=lemma, plural=inflection.plural(lemma), kind=kind, locative=preposition, indoors=where == "i")
            for lemma, preposition, where in triples
        )
    if kind == "drink":
        return tuple(Noun(lemma=lemma, plural=lemma, kind=kind) for lemma in words("mass", kind))
    if kind in ("role", "people"):
        listed = words("roles" if kind == "role" else "people")
    elif kind in ("f", "m", "a"):
        listed = words("kin", kind)
    else:
        listed = words("nouns", kind)
    return tuple(_noun(entry, kind) for entry in listed)


def _noun(entry: str, kind: str) -> Noun:
    lemma, _, irregular = entry.partition("/")
    return Noun(lemma=lemma, plural=irregular or inflection.plural(lemma), kind=kind)


@cache
def kind_of(lemma: str) -> str:
    """Return the kind of a thing by its lemma: `letter` -> `text`; nothing for other words."""
    kinds = (*raw()["nouns"], *raw()["mass"])
    return next((kind for kind in kinds for noun in nouns(kind) if noun.lemma == lemma), "")


@cache
def frames(table: str) -> tuple[Frame, ...]:
    """Return a table of frames: `frames`, `complements`, `particles` or `transfers`."""
    found = []
    for row in raw()[table]:
        for entry in (row.get("verbs") or row["verb"]).split():
            verb, _, particle = entry.partition(":")
            found.append(
                Frame(
                    verb=verb,
                    subject=tuple(row.get("subject", "person").split()),
                    object=tuple(row.get("object", "").split()),
                    preposition=row.get("preposition", ""),
                    particle=particle,
                    uses=row.get("uses", "d"),
                )
            )
    return tuple(found)


@cache
def forms(verb: str) -> dict[str, str]:
    """Return a verb's forms: `bare`, `third`, `past`, `participle`, `ing`."""
    regular = inflection.past(verb)
    irregular = raw()["irregular"].get(verb, f"{regular} {regular}").split()
    return {
        "bare": verb,
        "third": "has" if verb == "have" else inflection.third_person(verb),
        "past": irregular[0],
        "participle": irregular[1],
        "ing": raw()["ing"].get(verb) or inflection.gerund(verb),
    }
