"""Rules for every dependency tree, whatever its format, and the universal parts of speech."""

from collections.abc import Sequence

from headscope.errors import InputError

MAX_ROWS = 100_000  # lines of a sentence: a file without blank lines would be read into memory whole
_SHOWN = 8  # number of words of a cycle that an error lists
TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The universal parts of speech (UPOS)."""
_PENN = {
    "ADJ": ("JJ", "JJR", "JJS"),
    "ADP": ("IN", "RP"),
    "ADV": ("RB", "RBR", "RBS", "WRB"),
    "AUX": ("MD",),
    "CCONJ": ("CC",),
    "DET": ("DT", "PDT", "WDT"),
    "INTJ": ("UH",),
    "NOUN": ("NN", "NNS"),
    "NUM": ("CD",),
    "PART": ("POS", "TO"),
    "PRON": ("EX", "PRP", "PRP$", "WP", "WP$"),
    "PROPN": ("NNP", "NNPS"),
    "PUNCT": (".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"),
    "SYM": ("#", "$", "SYM"),
    "VERB": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
    "X": ("ADD", "AFX", "FW", "GW", "LS", "XX"),
}
_UNIVERSAL = {**{tag: tag for tag in TAGS}, **{penn: tag for tag, penn_tags in _PENN.items() for penn in penn_tags}}


def check_tree(words: Sequence[str], heads: Sequence[int], *, origins: Sequence[str]) -> None:
    """Raise an error if heads are not one tree over the words.

    Args:
        words: words of the sentence, at least one.
        heads: position of each word's head, from 1; 0 for the root.
        origins: place of each word, for messages: `dev.conllu, line 12`.

    Raises:
        InputError: a head is not a word of the sentence, or is the word itself; there is no root or two; or heads form
            a cycle.
    """
    size, roots = len(words), []
    for word, head in enumerate(heads):
        if not 0 <= head <= size:
            raise InputError(
                f"{origins[word]}: the head of {_named(words, word)} is {head}; expected 0 for the root, or a "
                f"number up to {size}, the sentence's words"
            )
        if head == word + 1:
            raise InputError(
                f"{origins[word]}: {_named(words, word)} is its own head; expected another word, or 0 for the root"
            )
        if not head:
            roots.append(word)
    if not roots:
        raise InputError(
            f"{origins[0]}: no word of the sentence that begins here has head 0; expected exactly one root"
        )
    if len(roots) > 1:
        first, second = (_named(words, word) for word in roots[:2])
        raise InputError(
            f"{origins[roots[1]]}: {second} has head 0, and so has {first}; expected exactly one root in a sentence, "
            "and a blank line between sentences"
        )
    if circle := find_circle(heads):
        steps = [_named(words, word) for word in circle]
        named = steps if len(steps) <= _SHOWN else [*steps[:_SHOWN], "..."]
        raise InputError(
            f"{origins[circle[0]]}: heads run in a circle: {' -> '.join([*named, f'word {circle[0] + 1}'])}; expected "
            "every word to lead to the root"
        )


def find_circle(heads: Sequence[int]) -> list[int]:
    """Return the positions (from 0) of words whose heads form a cycle, each followed by its head.

    The cycle is the one that the leftmost word leads into, from its leftmost member; the list is empty if every word
    leads to a root. Heads are from 1, 0 for a root, and all within the sentence.
    """
    visit = [0] * len(heads)  # number of the walk that reached each word first, from 1
    for start in range(len(heads)):
        word = start
        while word >= 0 and not visit[word]:
            visit[word] = start + 1
            word = heads[word] - 1
        if word >= 0 and visit[word] == start + 1:  # this walk has come back to itself
            circle = [word]
            while (word := heads[word] - 1) != circle[0]:
                circle.append(word)
            first = circle.index(min(circle))
            return circle[first:] + circle[:first]
    return []


def depths(heads: Sequence[int]) -> list[int]:
    """Return each word's distance from its root, 0 for a root; heads are those of a tree, from 1 (`check_tree`)."""
    known = [-1] * len(heads)
    for start in range(len(heads)):
        path, at = [], start
        while at >= 0 and known[at] < 0:
            path.append(at)
            known[at] = 0  # ends a cycle, too, in a sentence that was not checked
            at = heads[at] - 1
        depth = known[at] if at >= 0 else -1
        for word in reversed(path):
            depth += 1
            known[word] = depth
    return known


def read_heads(written: Sequence[str], *, words: Sequence[str], origins: Sequence[str]) -> tuple[int, ...]:
    """Convert heads that were written as text to numbers; `origins` as in `check_tree`.

    Raises:
        InputError: one of them is not a number from 0.
    """
    for word, text in enumerate(written):
        if text.isascii() and text.isdecimal() and len(text) < 10:  # int() refuses thousands of digits
            continue
        if text in ("", "_"):
            raise InputError(
                f"{origins[word]}: {shown(words[word])} has no head; expected a treebank in which every word has one "
                "(0 for the root)"
            )
        raise InputError(
            f"{origins[word]}: the head of {shown(words[word])} is {shown(text)}; expected a number: that of a "
            "word of the sentence, from 1, or 0 for the root"
        )
    return tuple(map(int, written))


def check_relations(relations: Sequence[str], *, words: Sequence[str], origins: Sequence[str]) -> None:
    """Raise an error if a relation is missing, or could not be separated from its neighbors in a line.

    Raises:
        InputError: one is empty or `_`, or contains white space or control characters; `origins` as in `check_tree`.
    """
    for word, relation in enumerate(relations):
        if relation in ("", "_"):
            raise InputError(
                f"{origins[word]}: {shown(words[word])} has no relation to its head; expected one, such as nsubj"
            )
        if " " in relation or not relation.isprintable():
            unfit = "white space" if any(map(str.isspace, relation)) else "control characters"
            raise InputError(
                f"{origins[word]}: the relation of {shown(words[word])} is {shown(relation)}; expected one without "
                f"{unfit}, such as nsubj"
            )


def too_long(origin: str) -> InputError:
    """Return the error for a sentence of more than `MAX_ROWS` lines that begins at `origin`."""
    return InputError(
        f"{origin}: a sentence of more than 100,000 lines begins here; put a blank line between sentences"
    )


def shown(text: str) -> str:
    """Return a text as errors quote it: like Python's repr, shortened if it is long."""
    return repr(text) if len(text) <= 40 else repr(text[:40]) + "..."


def _named(words: Sequence[str], position: int) -> str:
    return f"word {position + 1} ({shown(words[position])})"


def universal_tag(tag: str) -> str:
    """Return the universal part of speech of a universal or Penn tag; empty if it is neither.

    Penn tags are less specific: `IN` is mapped to a preposition, though it may be a subordinating conjunction, and `VB`
    to a verb, though it may be an auxiliary.
    """
    return _UNIVERSAL.get(tag, "")
