"""Words for readers: foreign text made safe to draw or print, numbers with their nouns, and times."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_TITLE = 200
LONGEST_LINE, LONGEST_LINES = 4_000, 20_000
MOST_MARKS = 4
_JOINERS = "\u200c\u200d"
_SIGNS = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters and marks by category, which no font draws.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"


def capital(text: str) -> str:
    """Return a text with its first letter capitalized and the rest unchanged."""
    return text[:1].upper() + text[1:]


def visible(token: str) -> str:
    """Return a token with every control, format, surrogate, private or unassigned character written as `⟨U+200B⟩`.

    Marks stacked on one letter are cut at four, because a higher stack would cover its neighbors. Joiners inside a
    token stay, because emoji and several scripts need them. An empty token is shown as `⟨empty⟩`.
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
    """Return a text that is safe for a terminal: nothing moves the cursor, is invisible, or reverses its neighbors.

    Characters that `visible` replaces by signs are replaced here, too, including joiners, so that a file's name differs
    from one that looks the same. A line break in foreign text becomes `⏎`, so that it cannot imitate a line of ours. A
    text of more than 4,000 characters loses its middle.

    Args:
        text: a message, or a cell of a table; foreign text may be anywhere in it.
        lines: whether its line breaks are our own and stay, as in a traceback; the limit is then 20,000 characters.
    """
    kept = without_middle(text, LONGEST_LINES if lines else LONGEST_LINE)
    return "".join(
        character if lines and character == "\n" else _shown(character, _BLANKS)
        for _, character in _without_piles(kept)
    )


def without_middle(text: str, limit: int) -> str:
    """Return `text`; if it is over `limit`, return its two ends with the number of left-out characters between them."""
    if len(text) <= limit:
        return text
    start, end = limit // 2, limit // 4
    return f"{text[:start]}… ({len(text) - start - end:,} characters left out) …{text[-end:]}"


def _without_piles(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text's characters with their positions, without marks beyond the fourth on one letter."""
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
    """Return the number of columns of a text: wide characters count two, combining marks none."""
    total = 0
    for character in text:
        if unicodedata.combining(character) or character in _JOINERS:
            continue
        total += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return total


def shorten(text: str, limit: int) -> str:
    """Return `text`, or its start with `…` if it takes more than `limit` columns."""
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
    """Return a token with invisible characters made visible, up to 200 columns."""
    return shorten(visible(token[: 2 * LONGEST_TITLE]), LONGEST_TITLE)


def shown(value: Any, *, limit: int = 200) -> str:
    """Return a value as text that fits into a sentence: control characters named, at most `limit` columns."""
    return shorten(printable(str(value)[: 4 * limit]), limit)


def described(value: Any, *, limit: int = 60) -> str:
    """Return a JSON value in a few printable words: `null`, `12`, `the text 'a'`, `a list` ..."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else "a huge number"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return f"the text {shorten(titled(value), limit)!r}"
    kind = "a list" if isinstance(value, list | tuple) else "an object"
    return kind if value else f"{kind} without content"


def short_name(name: str) -> str:
    """Return the last part of a local folder's path, or a hub name unchanged."""
    looks_local = name.startswith(("/", ".", "~")) or "\\" in name
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if looks_local else name


def count(number: int, noun: str, many: str = "") -> str:
    """Return `1 head` or `3,072 heads`.

    Args:
        number: number of things.
        noun: singular noun; it may have words before and after it if `many` is given.
        many: plural noun; by default the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def with_reasons(numbers: Mapping[str, int]) -> str:
    """Return numbers by reason, `too long: 1,024; no words: 3`, sorted by reason; empty if there are none."""
    return "; ".join(f"{reason}: {number:,}" for reason, number in sorted(numbers.items()))


def duration(seconds: float) -> str:
    """Write a time as `45 s`, `3 min` or `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
