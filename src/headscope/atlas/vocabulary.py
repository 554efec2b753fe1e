"""Words by which heads are asked for: roles, relations and statistics, each with what people call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headscope.reporting.kit.relation_names import COREFERENCE, gloss, short, terms
from headscope.reporting.kit.words import Words
from headscope.statistics.catalogue import STATISTICS
from headscope.statistics.role_catalogue import ROLES, SHOWN

# By the label without its sub-type, beside the glossary's own words.
_RELATIONS = {
    "acl": ("clause", "noun clause"),
    "advcl": ("adverbial clause", "clause"),
    "amod": ("adjective", "adjectival modifier"),
    "appos": ("apposition",),
    "aux": ("auxiliary", "auxiliary verb"),
    "case": ("preposition", "case marker", "adposition"),
    "cc": ("conjunction", "coordinating conjunction", "and"),
    "ccomp": ("complement clause", "clause"),
    "compound": ("compound", "compound noun"),
    "conj": ("conjunct", "coordination"),
    "cop": ("copula",),
    "det": ("determiner", "article"),
    "dobj": ("object",),
    "mark": ("subordinating conjunction", "subordinator", "marker"),
    "nmod": ("noun modifier", "modifier"),
    "nsubj": ("subject",),
    "nummod": ("number", "numeral"),
    "obj": ("object",),
    "obl": ("oblique",),
    "parataxis": ("parenthesis",),
    "poss": ("possessive",),
    "punct": ("punctuation",),
    "xcomp": ("open complement", "infinitive"),
}
UNIVERSAL = (*(name for name in _RELATIONS if name not in ("dobj", "poss")), COREFERENCE)
"""Relations that are understood also where the run did not measure them, to say so."""
_COREFERENCE = ("coreference", "coref", "antecedent", "pronoun", "anaphora", "mention", "entity")


def vocabulary(words: Words, relations: Sequence[str]) -> list[dict[str, Any]]:
    """Return what can be asked for: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, statistic, or unmeasured: a relation that this run knows nothing of.

    Args:
        words: the model's names of special tokens.
        relations: those that the run measured, `coreference` among them.
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*ROLES[name].asked, words.roles[name])) for name in SHOWN
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*one.asked, words.statistics[name]))
        for name, one in STATISTICS.items()
        if one.asked
    ]
    others = [_relation(name) | {"what": "unmeasured"} for name in UNIVERSAL if name not in relations]
    return [*roles, *(_relation(name) for name in relations), *statistics, *others]


def _relation(name: str) -> dict[str, Any]:
    if name == COREFERENCE:
        return _entry("relation", name, short(name), "an earlier mention of the same entity", _COREFERENCE)
    # A sub-type answers to what its base is called only where the glossary has no words of its own for it.
    known = terms(name)
    base = name.split(":", 1)[0]
    own = _RELATIONS.get(name, _RELATIONS.get(base, ()) if known == terms(base) else ())
    return _entry("relation", name, short(name), gloss(name), (name, *own, *(known[:1] if known else ())))


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
