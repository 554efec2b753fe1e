"""Relations in words: what the dependent is called, and the word it depends on; Universal and Stanford labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from headscope.figures.labels import label

COREFERENCE = "coreference"
OVERALL = ("all", "all_but_punct_root")
LONGEST_RELATION = 22

_FILE = resources.files("headscope").joinpath("data/relations.json")
RELATIONS: Mapping[str, Mapping[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
"""By its label: the dependent and its head word, each as after "of a" and "the", and what else people search it by."""

BASIC_RELATIONS = tuple(relation for relation in RELATIONS if ":" not in relation)
"""Every relation that has a name in words, without sub-types."""

DIRECTIONS = {
    "dependent->head": "dependent → head word",
    "head->dependent": "head word → dependent",
    "both": "both ways, added",
}


def terms(relation: str) -> tuple[str, str] | None:
    """Return what a relation's dependent and head word are called; a sub-type goes by its base where it has no own."""
    known = RELATIONS.get(relation) or RELATIONS.get(relation.split(":", 1)[0])
    return (known["dependent"], known["head"]) if known else None


def short(relation: str) -> str:
    """Return a relation's label as it is drawn; the two rows over all relations in words."""
    known = {"all": "all words", "all_but_punct_root": "all but punctuation", COREFERENCE: "coreference"}
    return known.get(relation) or label(relation, LONGEST_RELATION)


def gloss(relation: str) -> str:
    """Return a few words on a relation for the table, or nothing where its label is not known."""
    overall = {"all": "root always wrong", "all_but_punct_root": "and without the root"}
    known = terms(relation)
    return overall.get(relation) or (known[0] if known else "")


def found_words(relation: str) -> str:
    """Return what is found, as after "finds": `the verb of a direct object (obj)`."""
    known = terms(relation)
    if known is None:
        return f"the head word of a word marked {short(relation)}"
    return f"the {known[1]} of {article(known[0])} {known[0]} ({short(relation)})"


def dependents(relation: str) -> str:
    """Return a relation's dependents as a sentence names them: `words marked obj (direct object)`."""
    known = terms(relation)
    return f"words marked {short(relation)}" + (f" ({known[0]})" if known else "")


def attending(relation: str, direction: str) -> str:
    """Return the words that attend in a relation, named as in a sentence: dependents, their head words, or both."""
    marked = dependents(relation)
    head_words = {"head->dependent": f"the head words of {marked}", "both": f"{marked} and their head words"}
    return head_words.get(direction, marked)


def article(noun: str) -> str:
    """Return `a` or `an`."""
    return "an" if noun[:1] in "aeiou" else "a"
