"""Names of relations: words for the dependent and its head; Universal and Stanford labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from headscope.figures.style import label

COREFERENCE = "coreference"
OVERALL = ("all", "all_but_punct_root")
LONGEST_RELATION = 22

_FILE = resources.files("headscope").joinpath("data/relations.json")
RELATIONS: Mapping[str, Mapping[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
"""Relations by label: the dependent and its head word, as used after "of a" and "the", and further search words."""

BASIC_RELATIONS = tuple(relation for relation in RELATIONS if ":" not in relation)
"""Every relation with a name in words, without sub-types."""

DIRECTIONS = {
    "dependent->head": "dependent → head word",
    "head->dependent": "head word → dependent",
    "both": "both ways, added",
}


def terms(relation: str) -> tuple[str, str] | None:
    """Return the words for a relation's dependent and head word; a sub-type without its own uses those of its base."""
    known = RELATIONS.get(relation) or RELATIONS.get(relation.split(":", 1)[0])
    return (known["dependent"], known["head"]) if known else None


def short(relation: str) -> str:
    """Return a relation's label for figures; the two rows over all relations are in words."""
    known = {"all": "all words", "all_but_punct_root": "all but punctuation", COREFERENCE: "coreference"}
    return known.get(relation) or label(relation, LONGEST_RELATION)


def gloss(relation: str) -> str:
    """Return a few words on a relation for the table, or nothing if its label is unknown."""
    overall = {"all": "root always wrong", "all_but_punct_root": "and without the root"}
    known = terms(relation)
    return overall.get(relation) or (known[0] if known else "")


def found_words(relation: str) -> str:
    """Return a phrase for the found word, to follow "finds": `the verb of a direct object (obj)`."""
    known = terms(relation)
    if known is None:
        return f"the head word of a word marked {short(relation)}"
    return f"the {known[1]} of {article(known[0])} {known[0]} ({short(relation)})"


def dependents(relation: str) -> str:
    """Return a phrase for a relation's dependents: `words marked obj (direct object)`."""
    known = terms(relation)
    return f"words marked {short(relation)}" + (f" ({known[0]})" if known else "")


def attending(relation: str, direction: str) -> str:
    """Return a phrase for the attending words of a relation: dependents, their head words, or both."""
    marked = dependents(relation)
    head_words = {"head->dependent": f"the head words of {marked}", "both": f"{marked} and their head words"}
    return head_words.get(direction, marked)


def article(noun: str) -> str:
    """Return `a` or `an`."""
    return "an" if noun[:1] in "aeiou" else "a"
