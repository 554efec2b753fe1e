"""Token text made fit to be drawn: nothing invisible, nothing that turns its neighbours round, no endless line."""

from __future__ import annotations

import unicodedata

LONGEST_TITLE = 200
MOST_MARKS = 4
_JOINERS = "\u200c\u200d"


def visible(token: str) -> str:
    """Return a token with every control, format, surrogate, private or unassigned character written as `⟨U+200B⟩`.

    Marks piled on one letter are cut at four: a higher pile would cover its neighbours. Joiners inside a token stay:
    emoji and several scripts need them. An empty token shows as `⟨empty⟩`.
    """
    shown = []
    marks = 0
    for place, character in enumerate(token):
        inside = 0 < place < len(token) - 1
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if marks > MOST_MARKS:
            continue
        if character in _JOINERS and inside:
            shown.append(character)
        elif character in "\n\r\t":
            shown.append({"\n": "⏎", "\r": "␍", "\t": "⇥"}[character])
        elif unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
            shown.append(f"⟨U+{ord(character):04X}⟩")
        else:
            shown.append(character)
    text = "".join(shown)
    if not text:
        return "⟨empty⟩"
    return "␣" * len(text) if text.isspace() else text


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
