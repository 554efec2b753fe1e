"""Which characters each piece of a text covers, found by spelling: for tokenizers that do not say so themselves.

Pieces written one after another are the text again, but for white space, marks, and what the tokenizer does to every
letter (case, accents, compatibility forms). Where they are, letter by letter, it is known which letters a piece covers;
where they are not, nothing is claimed.
"""

import unicodedata
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

_BLOCK = "\u2581"  # SentencePiece's space


def _nothing(token: str) -> str:
    return token.replace(_BLOCK, " ")


# How tokenizers mark what goes on, and what a piece reads without the mark.
_MARKS: dict[str, Callable[[str], str]] = {
    "@@": lambda token: token.removesuffix("@@"),
    "</w>": lambda token: token.removesuffix("</w>"),
    "##": lambda token: token.removeprefix("##"),
}


def without_marks(vocabulary: Sequence[str]) -> Callable[[str], str]:
    """Return how a tokenizer's pieces read without its marks: those that a hundredth of its vocabulary has."""
    for mark, reads in _MARKS.items():
        marked = sum(mark in token and token != mark for token in vocabulary)
        if marked and marked * 100 >= len(vocabulary):
            return reads
    return _nothing


def spelled(text: str, pieces: Sequence[str | None]) -> list[tuple[int, int]] | None:
    """Return which characters each piece covers, or None where the pieces do not spell the text.

    Args:
        text: the text.
        pieces: each piece without marks, white space included; None for one that stands for unknown text. At most one
            of these can be placed: it covers what the others leave.
    """
    for reading in _READINGS:
        spans = _matched(text, pieces, reading)
        if spans is not None:
            return spans
    return None


def _matched(text: str, pieces: Sequence[str | None], reading: "_Reading") -> list[tuple[int, int]] | None:
    of_text, of_piece, spaces = reading
    places = [(unit, index) for index, letter in enumerate(text) for unit in of_text(letter) if not spaces(unit)]
    units_of_pieces = [None if piece is None else [u for u in of_piece(piece) if not spaces(u)] for piece in pieces]
    if any(piece and not units and not spaces(piece) for units, piece in zip(units_of_pieces, pieces)):
        return None  # an accent of its own, say: it would belong nowhere
    left = len(places) - sum(len(units) for units in units_of_pieces if units is not None)
    if units_of_pieces.count(None) > 1 or (left < 1 if None in units_of_pieces else left != 0):
        return None
    ends = list(accumulate(left if units is None else len(units) for units in units_of_pieces))
    starts = [0, *ends[:-1]]
    for units, start, end in zip(units_of_pieces, starts, ends):
        if units is not None and any(unit != letter_place[0] for unit, letter_place in zip(units, places[start:end])):
            return None
    spans = [(places[start][1], places[end - 1][1] + 1) if end > start else None for start, end in zip(starts, ends)]
    return _with_spaces(spans, len(text))


def _with_spaces(spans: Sequence[tuple[int, int] | None], length: int) -> list[tuple[int, int]]:
    """Give pieces of white space the spaces that they stand between; a mark without a space goes with what follows."""
    out: list[tuple[int, int]] = []
    index = before = 0
    while index < len(spans):
        span = spans[index]
        if span is not None:
            out.append(span)
            before, index = span[1], index + 1
            continue
        run = index
        while run < len(spans) and spans[run] is None:
            run += 1
        following = spans[run] if run < len(spans) else None
        until = length if following is None else following[0]
        for number in range(run - index):
            start = before + number
            if start < until:
                last = number == run - index - 1
                out.append((start, until if last else start + 1))
            else:
                out.append((until, until) if following is None else (until, until + 1))
        index = run
    return out


def _plain(text: str) -> str:
    return text


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _caseless(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in folded if unicodedata.category(letter) != "Mn")


def _bytes(text: str) -> str:
    """Write a text's bytes as letters: tokenizers of bytes name each by the letter of its number."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _ascii_space(text: str) -> bool:
    return text.isascii() and text.isspace()  # among bytes, a no-break space is half of an `à`


class _Reading(NamedTuple):
    """How the letters of a text and of pieces are compared."""

    of_text: Callable[[str], str]
    of_piece: Callable[[str], str]
    spaces: Callable[[str], bool]


_READINGS = (
    *(_Reading(fold, fold, str.isspace) for fold in (_plain, _compatible, _caseless, _bare)),
    _Reading(_bytes, _plain, _ascii_space),
)
