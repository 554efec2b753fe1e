"""Relations in words: what the dependent is called, and the word it depends on; Universal and Stanford labels."""

from __future__ import annotations

from headscope.figures.labels import label

COREFERENCE = "coreference"
OVERALL = ("all", "all_but_punct_root")
LONGEST_RELATION = 22

# label: the dependent and its head word, each as after "of a" and "the".
_TERMS = {
    "acl": ("clause on a noun", "noun"),
    "acl:relcl": ("relative clause", "noun"),
    "advcl": ("adverbial clause", "predicate"),
    "advmod": ("adverb", "word it modifies"),
    "amod": ("adjective", "noun"),
    "appos": ("apposition", "noun"),
    "attr": ("attribute", "verb"),
    "aux": ("auxiliary", "verb"),
    "aux:pass": ("passive auxiliary", "verb"),
    "auxpass": ("passive auxiliary", "verb"),
    "case": ("preposition or case marker", "noun"),
    "cc": ("conjunction", "conjunct"),
    "ccomp": ("clausal complement", "verb"),
    "clf": ("classifier", "noun"),
    "compound": ("part of a compound", "main word"),
    "compound:prt": ("verb particle", "verb"),
    "conj": ("conjunct", "first conjunct"),
    "cop": ("copula", "predicate"),
    "csubj": ("clausal subject", "predicate"),
    "dep": ("unnamed dependent", "head word"),
    "det": ("determiner", "noun"),
    "discourse": ("discourse word", "predicate"),
    "dislocated": ("dislocated element", "predicate"),
    "dobj": ("direct object", "verb"),
    "expl": ("expletive", "predicate"),
    "fixed": ("part of a fixed expression", "first word"),
    "flat": ("part of a name", "first word"),
    "goeswith": ("split-off piece of a word", "first piece"),
    "iobj": ("indirect object", "verb"),
    "list": ("list item", "first item"),
    "mark": ("subordinating word", "clause’s predicate"),
    "mwe": ("part of a fixed expression", "last word"),
    "neg": ("negation", "word it negates"),
    "nmod": ("noun modifier", "noun"),
    "nmod:poss": ("possessor", "noun"),
    "nn": ("noun in a compound", "main noun"),
    "nsubj": ("subject", "predicate"),
    "nsubj:pass": ("passive subject", "verb"),
    "nsubjpass": ("passive subject", "verb"),
    "num": ("number", "noun"),
    "number": ("part of a number", "number"),
    "nummod": ("number", "noun"),
    "obj": ("direct object", "verb"),
    "obl": ("oblique nominal", "predicate"),
    "obl:agent": ("agent of a passive", "verb"),
    "orphan": ("orphaned word", "predicate"),
    "parataxis": ("parenthetical clause", "predicate"),
    "partmod": ("participle", "noun"),
    "pcomp": ("complement of a preposition", "preposition"),
    "pobj": ("object of a preposition", "preposition"),
    "poss": ("possessor", "noun"),
    "possessive": ("possessive ending", "possessor"),
    "prep": ("preposition", "word it modifies"),
    "prt": ("verb particle", "verb"),
    "punct": ("punctuation mark", "head word"),
    "quantmod": ("word on a quantity", "number"),
    "rcmod": ("relative clause", "noun"),
    "reparandum": ("corrected word", "correction"),
    "vocative": ("vocative", "predicate"),
    "xcomp": ("clausal complement without a subject", "verb"),
}

BASIC_RELATIONS = tuple(relation for relation in _TERMS if ":" not in relation)
"""Every relation that has a name in words, without sub-types."""

DIRECTIONS = {
    "dependent->head": "dependent → head word",
    "head->dependent": "head word → dependent",
    "both": "both ways, added",
}


def terms(relation: str) -> tuple[str, str] | None:
    """Return what a relation's dependent and head word are called; a sub-type goes by its base where it has no own."""
    return _TERMS.get(relation) or _TERMS.get(relation.split(":", 1)[0])


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
    head_words = {
        "head->dependent": f"the head words of {marked}",
        "both": f"{marked} and their head words",
    }
    return head_words.get(direction, marked)


def article(noun: str) -> str:
    """Return `a` or `an`."""
    return "an" if noun[:1] in "aeiou" else "a"
