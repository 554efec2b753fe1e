"""Trees as they are built: words with children to their left and right, and places still to be named."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Union

from headscope.corpora.annotation import AnnotatedSentence, Mention

Edge = tuple[str, Union["Node", "Ref"]]
"""A relation and the child that bears it."""

# What belongs to a noun phrase; other children of its noun belong to a clause of which it is the predicate.
_LEFT = ("det", "det:predet", "amod", "compound", "nummod", "nmod:poss", "nmod:desc")
_RIGHT = ("flat", "nmod", "acl", "acl:relcl", "appos", "case", "amod", "xcomp")

_STRONGER = (",", ".", "?", "!", ";", ":")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A word with its dependents in order of speaking: `before` it and `after` it.

    Attributes:
        entity: whose mention the word heads (without what is coordinated with it).
        group: whose mention the word heads together with its conjuncts.
        glued: whether it is written against the word before it.
        opens: whether it is an opening quote: the word after it is written against it, with a capital.
        voice: (speaker, hearer) of direct speech, whom `I` and `you` stand for under this word.
    """

    word: str
    tag: str
    before: tuple[Edge, ...] = ()
    after: tuple[Edge, ...] = ()
    entity: str = ""
    group: str = ""
    glued: bool = False
    opens: bool = False
    voice: Any = None

    def with_before(self, *edges: Edge) -> "Node":
        """Return the node with edges in front of all its others."""
        return self.having(edges + self.before, self.after)

    def having(self, before: tuple[Edge, ...], after: tuple[Edge, ...]) -> "Node":
        """Return the node with other edges; by hand, since `replace` takes most of the time of a document."""
        node = object.__new__(Node)
        node.__dict__.update(self.__dict__, before=before, after=after)
        return node

    def with_after(self, *edges: Edge) -> "Node":
        """Return the node with edges behind all its others."""
        return self.having(self.before, self.after + edges)


@dataclass(frozen=True, kw_only=True)
class Ref:
    """A place where an entity is to be named, decided when the sentence is spoken from left to right.

    Attributes:
        who: the entity (`entities.Entity`).
        form: `any`, or what is asked for: `noun` (never a pronoun), `name`, `reflexive`,
            `full` (name and all), `gap:who` (a relative pronoun, which is no mention).
        before: edges in front of the noun phrase that are no part of the mention, such as `case`.
        after: edges that modify the noun and belong to the mention, such as a relative clause.
        tail: edges behind it all, of the clause whose predicate the noun is.
    """

    who: Any
    form: str = "any"
    before: tuple[Edge, ...] = ()
    after: tuple[Edge, ...] = ()
    tail: tuple[Edge, ...] = ()


def word(text: str, tag: str, *before: Edge, glued: bool = False) -> Node:
    """Return a leaf, or a word with dependents to its left."""
    return Node(word=text, tag=tag, before=before, glued=glued)


def led_by(edge: Edge, child: Node | Ref) -> Node | Ref:
    """Return the child with a word such as its preposition in front, outside what it mentions."""
    if isinstance(child, Ref):
        return replace(child, before=(edge, *child.before))
    return child.with_before(edge)


def with_case(preposition: str, child: Node | Ref) -> Node | Ref:
    """Return a noun phrase with its preposition; words after the first are `fixed` (`because of`)."""
    first, *rest = preposition.split()
    tag = "SCONJ" if first == "because" else "ADV" if first == "instead" else "ADP"
    tag = "VERB" if first == "according" else tag
    fixed: tuple[Edge, ...] = tuple(("fixed", word(part, "ADP")) for part in rest)
    return led_by(("case", Node(word=first, tag=tag, after=fixed)), child)


def comma() -> Edge:
    """Return a comma, to be put among the edges of the unit that it marks off."""
    return ("punct", word(",", "PUNCT", glued=True))


@dataclass
class _Walk:
    """What a walk through a tree has gathered so far."""

    words: list[Node] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    spans: list[tuple[int, int, str]] = field(default_factory=list)

    def visit(self, node: Node, relation: str) -> int:
        """Lay the words of a subtree in order; return the position of its head, from 0."""
        children: list[tuple[int, int, str]] = []  # position of the child's head, its first word, its relation
        for edge in node.before:
            children.append(self._child(edge))
        at = len(self.words)
        self.words.append(node)
        self.heads.append(0)
        self.relations.append(relation)
        for edge in node.after:
            children.append(self._child(edge))
        for child, _, _ in children:
            self.heads[child] = at + 1
        self._mentions(node, at, children)
        return at

    def _child(self, edge: Edge) -> tuple[int, int, str]:
        relation, child = edge
        if isinstance(child, Ref):
            raise TypeError(f"expected a tree without open places, found {child.who}; resolve it first")
        first = len(self.words)
        return self.visit(child, relation), first, relation

    def _mentions(self, node: Node, at: int, children: list[tuple[int, int, str]]) -> None:
        if not (node.entity or node.group):
            return
        start, end = at, -1
        for child, first, relation in reversed(children):
            if child < at and relation in _LEFT:
                start = first
            elif child < at:
                break
        for child, first, relation in children:
            if child > at and end < 0 and relation not in _RIGHT:
                end = first
        whole = len(self.words)
        if node.entity:
            self.spans.append((start, self._trim(whole if end < 0 else end), node.entity))
        if node.group:
            outside = [first for child, first, name in children if child > at and name not in (*_RIGHT, "conj")]
            self.spans.append((start, self._trim(outside[0] if outside else whole), node.group))

    def drop_doubled(self) -> None:
        """Leave out the commas that stand right before another mark: a full stop closes an apposition too."""
        texts = [node.word if node.tag == "PUNCT" else "" for node in self.words]
        gone = [at for at, text in enumerate(texts[:-1]) if text == "," and texts[at + 1] in _STRONGER]
        for at in reversed(gone):
            del self.words[at], self.heads[at], self.relations[at]
            self.heads = [head - (head > at + 1) for head in self.heads]
            self.spans = [(start - (start > at), end - (end > at), who) for start, end, who in self.spans]

    def _trim(self, end: int) -> int:
        while self.relations[end - 1] == "punct":
            end -= 1
        return end


def sentence_of(root: Node, *, origin: str, offset: int) -> tuple[AnnotatedSentence, list[Mention]]:
    """Return a finished tree as a sentence, and its mentions.

    Args:
        root: the tree, without open places.
        origin: what messages call the sentence.
        offset: position of its first word in the document, which mentions count from.
    """
    walk = _Walk()
    walk.visit(root, "root")
    walk.drop_doubled()
    nodes = walk.words
    words = [node.word for node in nodes]
    first = next(at for at, node in enumerate(nodes) if node.tag != "PUNCT")
    capitals = {first} | {at + 1 for at, node in enumerate(nodes) if node.opens}
    words = [text[0].upper() + text[1:] if at in capitals else text for at, text in enumerate(words)]
    spaces = [not (after.glued or node.opens) for node, after in pairwise(nodes)]
    text = "".join(form + " " * space for form, space in zip(words, [*spaces, False], strict=True))
    sentence = AnnotatedSentence(
        words=tuple(words),
        heads=tuple(walk.heads),
        relations=tuple(walk.relations),
        tags=tuple(node.tag for node in nodes),
        text=text,
        origin=origin,
    )
    mentions = [Mention(start + offset, end + offset, entity) for start, end, entity in walk.spans]
    return sentence, mentions


def extended(child: Node | Ref, *edges: Edge) -> Node | Ref:
    """Return a clause's head with more behind it, outside what it mentions if it is a noun."""
    if isinstance(child, Ref):
        return replace(child, tail=(*child.tail, *edges))
    return child.with_after(*edges)


def preceded(child: Node | Ref, *edges: Edge) -> Node | Ref:
    """Return a clause's head with more in front of it, outside what it mentions if it is a noun."""
    if isinstance(child, Ref):
        return replace(child, before=edges + child.before)
    return child.with_before(*edges)


def ended(child: Node | Ref, mark: str = ".") -> Node | Ref:
    """Return a sentence with its final mark."""
    return extended(child, ("punct", word(mark, "PUNCT", glued=True)))
