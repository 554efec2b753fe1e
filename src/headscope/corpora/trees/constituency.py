"""Word heads from Penn Treebank constituents, by rules of head percolation.

Every constituent has one head child; the heads of the other children depend on that child's head. The rules follow
Collins (1999): each label has a list of child labels to look for, and the end to start from. Unlike in his rules, the
head of a coordinated noun phrase is its first conjunct and that of a possessive its noun, as in Universal
Dependencies; a prepositional phrase keeps its preposition as head, and a verb phrase its auxiliary.
"""

import re
from collections.abc import Sequence

from headscope.corpora.mentions.brackets import printable
from headscope.errors import InputError

_BIT = re.compile(r"((?:\([^()\s*]+)*)\*(\)*)")
_PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "POS", "-NONE-"})
_CONJUNCTIONS = frozenset({"CC", "CONJP"})
_NOUNS = ("NN", "NNS", "NNP", "NNPS", "NX", "NML")
_VERBS = ("TO", "MD", "VBZ", "VBD", "VBP", "VB", "VBN", "VBG", "VP")
_CLAUSES = ("S", "SQ", "SINV", "SBAR", "SBARQ", "FRAG")

# label: tiers in order; each gives the end from which its labels are searched. The first tier that matches a child
# decides; if none does, the head is the last child that is not punctuation. Unlisted labels use the rules of clauses.
_Tier = tuple[str, tuple[str, ...]]
_NOMINAL: tuple[_Tier, ...] = (
    ("last", _NOUNS),
    ("first", ("NP", "WHNP")),
    ("first", ("PRP", "WP", "EX", "PRP$", "WP$")),
    ("last", ("$", "CD", "QP")),
    ("last", ("JJ", "JJS", "JJR", "ADJP", "VBN", "VBG")),
    ("last", ("DT", "WDT", "PDT", "RB", "FW")),
)
_CLAUSAL: tuple[_Tier, ...] = (("first", _VERBS), ("first", _CLAUSES), ("last", ("ADJP", "NP", "PP")))
_RULES: dict[str, tuple[_Tier, ...]] = {
    **dict.fromkeys(("NP", "NML", "NX", "NAC", "WHNP", "EMBED"), _NOMINAL),
    **dict.fromkeys(("S", "SQ", "SINV", "VP", "TOP", "ROOT", "FRAG", "PRN"), _CLAUSAL),
    "SBAR": (
        ("first", ("WHNP", "WHPP", "WHADVP", "WHADJP")),
        ("first", ("IN", "DT", "TO")),
        ("first", (*_CLAUSES, "VP")),
    ),
    "SBARQ": (("first", ("SQ", "SINV", "S", "SBARQ", "FRAG")),),
    "PP": (("first", ("IN", "TO", "VBG", "VBN", "RP", "FW")), ("first", ("PP",)), ("first", ("JJ", "RB"))),
    "WHPP": (("first", ("IN", "TO", "FW")),),
    "QP": (("first", ("$",)), ("last", ("CD",)), ("last", ("NNS", "NN", "QP")), ("last", ("JJ", "JJR", "DT"))),
    "ADJP": (
        ("last", ("JJ", "JJR", "JJS", "VBN", "VBG", "ADJP")),
        ("last", ("$", "QP", "CD", *_NOUNS, "NP")),
        ("last", ("RB", "RBR", "RBS", "IN")),
    ),
    "ADVP": (("last", ("RB", "RBR", "RBS", "ADVP")), ("first", ("IN", "TO", "RP")), ("last", (*_NOUNS, "NP"))),
    "WHADVP": (("last", ("WRB",)),),
    "WHADJP": (("last", ("JJ", "JJR", "ADJP")), ("last", ("RB", "WRB"))),
    "CONJP": (("first", ("CC", "RB", "IN")),),
    "PRT": (("last", ("RP",)),),
    "RRC": (("first", (*_VERBS, "NP", "ADVP", "ADJP", "PP")),),
}


def syntax_heads(bits: Sequence[str], tags: Sequence[str], *, origins: Sequence[str]) -> tuple[int, ...]:
    """Return the head of every word of a sentence from its parse.

    Args:
        bits: each word's part of the bracketed tree, with `*` for the word: `(TOP(S(NP*`, `*)`, `(VP*)))`.
        tags: Penn part of speech of each word.
        origins: `file, line N` of each word.

    Returns:
        The position of each word's head, from 1; 0 for the one root.

    Raises:
        InputError: a bit is malformed, or the brackets do not make one tree.
    """
    heads = [0] * len(bits)
    open_: list[tuple[str, str, list[tuple[str, int]]]] = []  # label, origin, (label, head) of children
    done = ""
    for word, (bit, tag, origin) in enumerate(zip(bits, tags, origins, strict=True), 1):
        parts = _BIT.fullmatch(bit)
        if parts is None:
            raise InputError(
                f"{origin}: expected a part of a parse such as (S(NP*, * or *)), found {printable(bit)}; mend it"
            )
        if done:
            raise InputError(
                f"{origin}: the parse has ended with the word before; "
                "put the sentence under one bracket, or a blank line between two sentences"
            )
        open_ += [(_plain(label), origin, []) for label in parts[1].split("(")[1:]]
        if not open_:
            raise InputError(f"{origin}: the word stands outside the parse; begin the parse with it, as in (TOP*")
        open_[-1][2].append((tag, word))
        for _ in parts[2]:
            if not open_:
                raise InputError(f"{origin}: the parse closes a bracket that is not open; remove one of the )")
            label, _, children = open_.pop()
            head = head_child(label, children)
            for _, other in children:
                if other != head:
                    heads[other - 1] = head
            if open_:
                open_[-1][2].append((label, head))
            else:
                done = origin
    if open_:
        label, origin, _ = open_[-1]
        raise InputError(f"{origin}: the bracket ({label} of the parse is never closed; close it with )")
    return tuple(heads)


def head_child(label: str, children: Sequence[tuple[str, int]]) -> int:
    """Return the head word of a constituent.

    Args:
        label: its label, without function tags (`NP`).
        children: (label or tag, head word) of each child, in order; at least one.
    """
    conjunct = _first_conjunct(children)
    for end, labels in _RULES.get(label, _CLAUSAL):
        for name, head in conjunct if end == "first" else reversed(conjunct):
            if name in labels:
                return head
    words = [child for child in conjunct if _is_word(child)]
    return (words or conjunct)[-1][1]


def _first_conjunct(children: Sequence[tuple[str, int]]) -> Sequence[tuple[str, int]]:
    """Return the children before the first conjunction, or before the first comma if a noun precedes it.

    A conjunction at the beginning (`both ... and`) does not join anything yet.
    """
    for at, (name, _) in enumerate(children):
        if name in _CONJUNCTIONS and any(map(_is_word, before := children[:at])):
            for comma, (other, _) in enumerate(before):
                if other == "," and any(kind in (*_NOUNS, "NP") for kind, _ in before[:comma]):
                    return before[:comma]
            return before
    return children


def _is_word(child: tuple[str, int]) -> bool:
    return child[0] not in _PUNCTUATION and child[0] not in _CONJUNCTIONS


def _plain(label: str) -> str:
    """Drop function tags and indices: `NP-SBJ-1` becomes `NP`, `-NONE-` is unchanged."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]
