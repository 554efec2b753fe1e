"""How the words of a sentence in CoNLL-U are written: multi-word tokens, and the white space between words."""

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


def as_written(tokens: Sequence[Token], words: Sequence[str], *, text: str) -> tuple[tuple[bool, ...], tuple[str, ...]]:
    """Return whether white space follows each word, and the form that is written for each; nothing where all are plain.

    A range whose words make up its form (`do` `n't`) is written word by word, without white space. Of another range
    (`au`), the first word has the form, and the others have none. The row of a range says what follows its last word.
    Where no row says anything, the text as it was written does, if it is made of these tokens.

    Args:
        tokens: in order.
        words: the words of the sentence.
        text: the sentence as it was written; empty where it is not known.
    """
    apart = [token.apart for token in tokens]
    if all(apart) and text:
        apart = _as_in(text, [token.form for token in tokens]) or apart
    if all(apart) and len(tokens) == len(words):
        return (), ()
    spaces: list[bool] = []
    written: list[str] = []
    for token, follows in zip(tokens, apart):
        inner = list(words[len(spaces) : token.last])
        known = token.form.strip() not in ("", "_")
        shared = known and len(inner) > 1 and "".join(inner) != token.form
        spaces += [not known] * (len(inner) - 1) + [follows]
        written += [token.form] + [""] * (len(inner) - 1) if shared else inner
    return tuple(spaces), () if written == list(words) else tuple(written)


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
