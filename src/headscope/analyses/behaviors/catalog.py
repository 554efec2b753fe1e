"""The catalog of behaviors (each a set of keys for every row, on which heads put weight), and delimiters in a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.token_names import named_tokens, piece_bytes, piece_text

if TYPE_CHECKING:
    from headscope.scans.prepare.prepared_run import ModelRun


class Delimiter(IntEnum):
    """Classes of delimiters, by a token's text; every token has exactly one."""

    NONE = 0
    NEWLINE = 1
    BLANK = 2
    QUOTE = 3
    BRACKET = 4
    MARK = 5


@dataclass(frozen=True, kw_only=True)
class Behavior:
    """A behavior that a head can show.

    Attributes:
        name: name in tables.
        label: label in headings.
        on: the keys in sentences, `puts 45% of its attention on ...`, or where tokens are counted `attend most to ...`.
        term: the field's term, `shows ...`; empty where sentences only name the attended keys.
        meaning: exact definition, for the definitions and the glossary.
        unit: unit of its value, a share or tokens.
        counts_tokens: True if the share is a share of tokens, not of attention.
        delimiter: class of the attended tokens, if the behavior is defined by such a class.
        natural: True if it is measured in text, False if only in experiments.
        search_words: words by which the atlas's search finds its heads; empty where it cannot be searched for.
        role: color of heads that show it, by its name in the palette.
    """

    name: str
    label: str
    on: str
    meaning: str
    term: str = ""
    unit: Literal["share", "tokens"] = "share"
    counts_tokens: bool = False
    delimiter: Delimiter | None = None
    natural: bool = True
    search_words: tuple[str, ...] = ()
    role: str = "mixed"


def _delimiter_behavior(delimiter: Delimiter, label: str, on: str, meaning: str, *search_words: str) -> Behavior:
    return Behavior(
        name=delimiter.name.lower(), label=label, on=on, meaning=meaning, delimiter=delimiter,
        search_words=(label, *search_words), role="period_comma",
    )  # fmt: skip


_EVERY = (
    Behavior(
        name="first", label="first token", on="the first token of the input", role="cls",
        meaning="weight on the key at position 0, whatever token it is; a row at position 0 counts",
        search_words=("first token", "first", "sink", "attention sink", "beginning"),
    ),
    Behavior(
        name="local", label="at most 3 away", on="tokens at most 3 away", role="previous",
        meaning="weight on keys 1, 2 or 3 tokens before or after the row",
        search_words=("local", "nearby", "neighbor", "window"),
    ),
    Behavior(
        name="distance", label="mean distance", on="", unit="tokens",
        meaning="distance in tokens from the attending token to the keys, in either direction: the mean, weighted "
        "by attention",
    ),
    Behavior(
        name="duplicate", label="earlier copies", on="earlier copies of the token itself",
        meaning="weight on earlier keys with the row's token id; special tokens are not rows",
        search_words=("duplicate", "duplicate token", "copies", "same token", "repeated"),
    ),
    Behavior(
        name="induction", label="after an earlier copy", on="tokens after an earlier copy", term="induction",
        meaning="weight on earlier keys right after an earlier token with the row's id; special tokens are not rows",
        search_words=("induction", "induction head", "after a copy", "after an earlier copy"),
    ),
    Behavior(
        name="previous", label="previous token", on="the previous token", natural=False, role="previous",
        meaning="weight on the key right before the row", search_words=("previous", "previous token"),
    ),
    Behavior(
        name="retrieval", label="retrieval", on="the needle’s next token", term="retrieval", counts_tokens=True,
        meaning="share of the tokens of a needle’s copy, its first left out, before which the head’s strongest key is "
        "the same token inside the needle",
        natural=False, search_words=("retrieval", "retrieval head", "needle", "haystack"),
    ),
    _delimiter_behavior(
        Delimiter.NEWLINE, "line breaks", "line breaks", "weight on tokens of white space that break the line",
        "newline", "new line",
    ),
    _delimiter_behavior(
        Delimiter.BLANK, "blanks", "blanks", "weight on tokens of other white space alone: spaces, tabs",
        "space", "white space", "whitespace", "tab",
    ),
    _delimiter_behavior(
        Delimiter.QUOTE, "quotation marks", "quotation marks", "weight on tokens of quotation marks alone", "quote"
    ),
    _delimiter_behavior(
        Delimiter.BRACKET, "brackets", "brackets", "weight on tokens of brackets, and of brackets with other marks",
        "parenthesis", "parentheses",
    ),
    _delimiter_behavior(
        Delimiter.MARK, "other marks", "other punctuation marks",
        "weight on tokens of other punctuation marks alone, but `.` and `,`, which `period_comma` counts",
        "colon", "semicolon", "question mark", "exclamation mark", "dash",
    ),
)  # fmt: skip

BEHAVIORS: Mapping[str, Behavior] = {behavior.name: behavior for behavior in _EVERY}
NAMES = tuple(BEHAVIORS)
"""The order of the columns of sums."""
NATURAL = tuple(behavior.name for behavior in _EVERY if behavior.natural)
SHARES = tuple(behavior.name for behavior in _EVERY if behavior.unit == "share")


_QUOTES = frozenset("\"'`´‘’‚‛“”„‟‹›«»＂＇")
_BRACKETS = frozenset({"Ps", "Pe"})
# Signs that are counted by the statistic `period_comma`.
_COUNTED = (".", ",")


def delimiter_of(text: str) -> Delimiter:
    """Return the delimiter class of a token's text; spaces around other signs are ignored."""
    if not text:
        return Delimiter.NONE
    if text.isspace():
        return Delimiter.NEWLINE if len(f"{text}.".splitlines()) > 1 else Delimiter.BLANK
    signs = text.strip()
    categories = [unicodedata.category(sign) for sign in signs]
    if all(sign in _QUOTES for sign in signs):
        return Delimiter.QUOTE
    if not all(category.startswith("P") or sign in _QUOTES for sign, category in zip(signs, categories)):
        return Delimiter.NONE
    # Typographic quotation marks may have the Unicode category of brackets.
    if any(c in _BRACKETS and sign not in _QUOTES for sign, c in zip(signs, categories)):
        return Delimiter.BRACKET
    return Delimiter.NONE if signs in _COUNTED else Delimiter.MARK


def delimiters_of(named: Mapping[int, str], *, special: Collection[int] = ()) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id, `[id]`; `NONE` for ids without a token and pieces of a character.

    Args:
        named: the tokenizer's name of each id: `Ġ(`, `##)`, `▁`, `<0x0A>`.
        special: ids that are not text, whatever their names.
    """
    ids = sorted(named)
    tokens = [named[token_id] for token_id in ids]
    no_text = {ids[index] for index in named_tokens(tokens).special}.union(special)
    delimiters = np.zeros(ids[-1] + 1 if ids else 1, dtype=np.uint8)
    for token_id, text in zip(ids, map(piece_text, piece_bytes(tokens)), strict=True):
        # Most tokens are letters and digits, and are skipped for speed.
        if token_id not in no_text and not (text.isascii() and text.strip().isalnum()):
            delimiters[token_id] = delimiter_of(text)
    return delimiters


_OF_RUNS: WeakKeyDictionary[ModelRun, NDArray[np.uint8]] = WeakKeyDictionary()


def delimiters_of_run(run: ModelRun) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id of a run's tokenizer, `[id]`.

    The result is cached by run, because stages declare their scans several times, and each declaration needs it.
    """
    if run not in _OF_RUNS:
        _OF_RUNS[run] = delimiters_of_tokenizer(run.loaded.tokenizer)
    return _OF_RUNS[run]


def delimiters_of_tokenizer(tokenizer: Any) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id of a transformers tokenizer, `[id]`."""
    named = {int(number): str(token) for token, number in tokenizer.get_vocab().items()}
    return delimiters_of(named, special={int(token_id) for token_id in tokenizer.all_special_ids})
