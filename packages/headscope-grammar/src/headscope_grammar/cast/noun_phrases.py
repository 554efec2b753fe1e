"""Noun phrases: how an entity is introduced, and how it is called again."""

from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.tree import Edge, Node, Ref, comma, word
from headscope_grammar.words.inflection import article

CASE = "'s"


def proper(entity: Entity, *, full: bool) -> Node:
    """Return the entity's name: `Anna`, or in full `Anna Miller`, `Dr. Miller`."""
    if entity.title:
        return word(entity.surname, "PROPN", ("nmod:desc", word(entity.title, "PROPN")))
    node = word(entity.name, "PROPN")
    if full and entity.surname:
        node = node.with_after(("flat", word(entity.surname, "PROPN")))
    return node


def head_noun(entity: Entity, *, adjectives: tuple[str, ...], compound: bool) -> Node:
    """Return the entity's noun with adjectives and a compound, without a determiner."""
    assert entity.noun is not None
    node = word(entity.noun.plural if entity.plural else entity.noun.lemma, "NOUN")
    if compound and entity.compound:
        node = node.with_before(("compound", word(entity.compound, "NOUN")))
    return node.with_before(*(("amod", word(adjective, "ADJ")) for adjective in adjectives))


def indefinite(entity: Entity) -> Node:
    """Return a first noun phrase: `a small red car`, `two old letters`, `some tea`."""
    node = head_noun(entity, adjectives=entity.adjectives, compound=True)
    if entity.plural:
        if entity.number:
            return node.with_before(("nummod", word(entity.number, "NUM")))
        return node.with_before(("det", word("some", "DET")))
    if entity.kind == "drink":
        return node.with_before(("det", word("some", "DET")))
    return node.with_before(("det", word(article(_first(node)), "DET")))


def definite(entity: Entity, *, adjectives: bool = False, compound: bool = False) -> Node:
    """Return a later noun phrase: `the car`, `the red car`."""
    chosen = entity.adjectives[:1] if adjectives else ()
    node = head_noun(entity, adjectives=chosen, compound=compound)
    return node.with_before(("det", word("the", "DET")))


def possessed(entity: Entity, *, adjectives: bool = False) -> Node:
    """Return `her bicycle` or `Tom's old bicycle`; the owner is a place still to be named."""
    node = head_noun(entity, adjectives=entity.adjectives[:1] if adjectives else (), compound=adjectives)
    return node.with_before(("nmod:poss", Ref(who=entity.owner)))


def with_clitic(node: Node) -> Node:
    """Return a noun phrase as a possessor: with `'s`, or `'` after a plural in -s."""
    bare = node.word.endswith("s") and node.tag == "NOUN"
    clitic = word("'" if bare else CASE, "PART", glued=True)
    return node.with_after(("case", clitic))


def apposed(node: Node, other: Node, *, commas: bool) -> Node:
    """Return a noun phrase with an apposition: `Anna, a young teacher,` or `her brother Tom`."""
    if not commas:
        return node.with_after(("appos", other))
    return node.with_after(("appos", replace(other, before=(comma(), *other.before)).with_after(comma())))


def joined(nodes: list[Node], *, conjunction: str = "and") -> Node:
    """Return noun phrases (or any equals) in coordination: `A and B`, `A, B and C`, `A as well as B`."""
    first, *rest = nodes
    edges: list[Edge] = []
    for position, node in enumerate(rest):
        if position < len(rest) - 1:
            edges.append(("conj", node.with_before(comma())))
        else:
            edges.append(("conj", node.with_before(("cc", conjunct(conjunction)))))
    return first.with_after(*edges)


def conjunct(text: str) -> Node:
    """Return a conjunction; the words of `as well as` hang on its first as `fixed`."""
    first, *rest = text.split()
    node = word(first, "ADV" if rest else "CCONJ")
    tags = ("ADV", "ADP")
    return node.with_after(*(("fixed", word(part, tag)) for part, tag in zip(rest, tags, strict=False)))


def _first(node: Node) -> str:
    """Return the first word of a phrase, which `a` or `an` is chosen by."""
    for _, child in node.before:
        if isinstance(child, Node):
            return _first(child)
    return node.word


def first_word(node: Node) -> str:
    """Return the first word of a phrase."""
    return _first(node)
