"""Foreign text made fit to be drawn or printed: nothing invisible, nothing that turns its neighbors round, no end."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

LONGEST_TITLE = 200
LONGEST_LINE, LONGEST_LINES = 4_000, 20_000
MOST_MARKS = 4
_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters and marks by their category, which no font draws.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"


def capital(text: str) -> str:
    """Return a text with its first letter a capital and the rest as it was."""
    return text[:1].upper() + text[1:]


def visible(token: str) -> str:
    """Return a token with every control, format, surrogate, private or unassigned character written as `⟨U+200B⟩`.

    Marks piled on one letter are cut at four: a higher pile would cover its neighbors. Joiners inside a token stay:
    emoji and several scripts need them. An empty token shows as `⟨empty⟩`.
    """
    last = len(token) - 1
    text = "".join(
        character if character in _JOINERS and 0 < index < last else _shown(character)
        for index, character in _without_piles(token)
    )
    if not text:
        return "⟨empty⟩"
    return "␣" * len(text) if text.isspace() else text


def printable(text: str, *, lines: bool = False) -> str:
    """Return a sentence fit for a terminal: nothing in it moves the cursor, hides, or turns its neighbors round.

    What `visible` writes as signs is so written here, joiners too: a file's name is to be told from one that looks
    the same. A line break that a file's text brings becomes `⏎`, so that it cannot pass for a line of ours. A text
    of more than 4,000 characters loses its middle.

    Args:
        text: a message, or a cell of a table; foreign text may be anywhere in it.
        lines: whether its line breaks are our own and stay, as in a traceback; 20,000 characters may then be left.
    """
    kept = without_middle(text, LONGEST_LINES if lines else LONGEST_LINE)
    return "".join(
        character if lines and character == "\n" else _shown(character, _BLANKS)
        for _, character in _without_piles(kept)
    )


def without_middle(text: str, limit: int) -> str:
    """Return `text`, or its two ends with the number of characters left out between them where it is over `limit`."""
    if len(text) <= limit:
        return text
    start, end = limit // 2, limit // 4
    return f"{text[:start]}… ({len(text) - start - end:,} characters left out) …{text[-end:]}"


def _without_piles(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text's characters with their positions, but for marks beyond the fourth on one letter."""
    marks = 0
    for index, character in enumerate(text):
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if marks <= MOST_MARKS:
            yield index, character


def _shown(character: str, more: str = "") -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if character in more or unicodedata.category(character) in _UNSEEN:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def cells(text: str) -> int:
    """Return how many columns a text takes: wide characters count two, combining marks none."""
    total = 0
    for character in text:
        if unicodedata.combining(character) or character in _JOINERS:
            continue
        total += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return total


def shorten(text: str, limit: int) -> str:
    """Return `text`, or its start with `…` where it takes more than `limit` columns."""
    if cells(text) <= limit:
        return text
    kept, columns = [], 0
    for character in text:
        columns += cells(character)
        if columns > limit - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def titled(token: str) -> str:
    """Return a token in full, visible, up to 200 columns."""
    return shorten(visible(token[: 2 * LONGEST_TITLE]), LONGEST_TITLE)
