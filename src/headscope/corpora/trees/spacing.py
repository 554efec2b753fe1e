"""Written form of a sentence's words in CoNLL-U: multi-word tokens, and the white space between words."""

from collections.abc import Sequence
from typing import NamedTuple


class Token(NamedTuple):
    """A unit written without a space inside: a word, or a range such as `au` for the words `à` `le`.

    Attributes:
        form: form as it is written.
        last: number of its last word, from 1.
        apart: whether white space follows it according to its row.
    """

    form: str
    last: int
    apart: bool


def closed(miscellany: str) -> bool:
    """Return True if the last column of a row marks that no space follows."""
    return "SpaceAfter=No" in miscellany and "SpaceAfter=No" in miscellany.split("|")


def as_written(tokens: Sequence[Token], words: Sequence[str], *, text: str) -> tuple[tuple[bool, ...], tuple[str, ...]]:
    """Return whether white space follows each word, and each word's written form; empty tuples if all are plain.

    A range whose words make up its form (`do` `n't`) is written word by word, without white space. In any other range
    (`au`), the first word has the form, and the others have an empty one. The row of a range defines the space after
    its last word. If no row defines any, the original text does, if it consists of these tokens.

    Args:
        tokens: tokens in order.
        words: words of the sentence.
        text: original text of the sentence; empty if it is unknown.
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
    """Return whether a space follows each token in a text; an empty list if the text does not consist of the tokens."""
    spans, at = [], 0
    for form in forms:
        if not text.startswith(form, at):
            return []
        end = at + len(form)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        # The text does not show what follows the last token; sentences are separated by a space.
        spans.append(at > end or at == len(text))
    return spans if at == len(text) else []
