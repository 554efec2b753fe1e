"""What all kinds of sentences share: bare verbs, clauses behind conjunctions, states that explain."""

from dataclasses import replace

from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.clauses import Form, build
from headscope_grammar.tree import Node, Ref, preceded, word

Tree = Node | Ref | None


def marked(mark: str, child: Node | Ref) -> Node | Ref:
    """Return a clause behind its conjunction; `when`, `where`, `why` and `how` are adverbs."""
    if mark in ("when", "where", "why", "how"):
        return preceded(child, ("advmod", word(mark, "ADV")))
    return preceded(child, ("mark", word(mark, "SCONJ")))


def bare(move: Move, tense: str, *, perfect: bool = False, negated: bool = False) -> Node:
    """Return a move without its subject: `to open the box`, `opening the box`, `having opened the box`."""
    form = Form(tense=tense, perfect=perfect, negated=negated)
    node = build(replace(move.clause, subject=None), form)
    assert isinstance(node, Node)
    return node


CAUSES = ("tired", "hungry", "ill", "busy", "bored", "lonely", "excited", "nervous", "curious", "worried", "angry")
