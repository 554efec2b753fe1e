"""Where white space stands between the words of a sentence in CoNLL-U, from `SpaceAfter=No` or from its text."""

from collections.abc import Sequence
from typing import NamedTuple


class Token(NamedTuple):
    """What is written without a space within: a word, or a range such as `au`, of the words `à` `le`.

    Attributes:
        form: as it is written.
        last: number of its last word, from 1.
        apart: whether white space follows it, as far as its row says.
    """

    form: str
    last: int
    apart: bool


def closed(miscellany: str) -> bool:
    """Whether the last column of a row says that no space follows."""
    return "SpaceAfter=No" in miscellany and "SpaceAfter=No" in miscellany.split("|")


def spaces_after(tokens: Sequence[Token], words: int, *, text: str) -> tuple[bool, ...]:
    """Return whether white space follows each word; nothing where it follows each.

    Of a range, what its row says holds after its last word: the words within are not written as they are read, and
    are apart. Where no row says anything, the text as it was written does, if it is made of these tokens.

    Args:
        tokens: in order.
        words: how many words the sentence has.
        text: the sentence as it was written; empty where it is not known.
    """
    apart = [token.apart for token in tokens]
    if all(apart) and text:
        apart = _as_in(text, [token.form for token in tokens]) or apart
    if all(apart):
        return ()
    spaces = [True] * words
    for token, follows in zip(tokens, apart):
        spaces[token.last - 1] = follows
    return tuple(spaces)


def _as_in(text: str, forms: Sequence[str]) -> list[bool]:
    """Return whether a space follows each token in a text; nothing where the text is not made of them."""
    spans, at = [], 0
    for form in forms:
        if not text.startswith(form, at):
            return []
        end = at + len(form)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        # What follows the last one is not in the text; sentences stand apart.
        spans.append(at > end or at == len(text))
    return spans if at == len(text) else []
