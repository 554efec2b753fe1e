"""The catalog of behaviors: each defines a set of keys for every row, on which heads put weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


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
        meaning="how many tokens the key is away from the row, before or after it: the mean by weight",
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
