"""The spelling of pieces: character offsets for tokenizers that do not return them, and copies that keep the case.

The concatenated pieces equal the text, except for white space, marks, and changes that the tokenizer makes to every
character (case, accents, compatibility forms). If they match character by character, the characters of each piece are
known; if they do not, no offsets are returned.
"""

import copy
import json
import unicodedata
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from tokenizers import Tokenizer

_BLOCK = "\u2581"  # SentencePiece's space
# How tokenizers mark continuations, and the text of a piece without the mark.
_MARKS: dict[str, Callable[[str], str]] = {
    "@@": lambda token: token.removesuffix("@@"),
    "</w>": lambda token: token.removesuffix("</w>"),
    "##": lambda token: token.removeprefix("##"),
}


def _nothing(token: str) -> str:
    return token.replace(_BLOCK, " ")


def without_marks(vocabulary: Sequence[str]) -> Callable[[str], str]:
    """Return the function that removes a tokenizer's marks from pieces: marks in at least 1% of its vocabulary."""
    for mark, reads in _MARKS.items():
        marked = sum(mark in token and token != mark for token in vocabulary)
        if marked and marked * 100 >= len(vocabulary):
            return reads
    return _nothing


def spelled(text: str, pieces: Sequence[str | None]) -> list[tuple[int, int]] | None:
    """Return the characters that each piece covers, or None if the pieces do not spell the text.

    Args:
        text: the text.
        pieces: each piece without marks, white space included; None for the piece of unknown text. At most one of
            these can be placed: it covers what the others leave.
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
        return None  # for example a lone accent, which would belong to no character
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
    """Assign the spaces around them to pieces of white space; a mark without a space goes with the next piece."""
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
    """Write each byte of a text as the character of its number, as byte tokenizers name their tokens."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _ascii_space(text: str) -> bool:
    return text.isascii() and text.isspace()  # as a byte, a no-break space is half of an `à`


class _Reading(NamedTuple):
    """How the characters of a text and of pieces are compared."""

    of_text: Callable[[str], str]
    of_piece: Callable[[str], str]
    spaces: Callable[[str], bool]


_READINGS = (
    *(_Reading(fold, fold, str.isspace) for fold in (_plain, _compatible, _caseless, _bare)),
    _Reading(_bytes, _plain, _ascii_space),
)


def keep_case(tokenizer: Any) -> Any:
    """Return a copy of a fast tokenizer that does not lower-case (the original code's `--cased`).

    BERT's normalizer, which strips accents when it lower-cases, keeps accents, too; a `Lowercase` step is
    removed. A tokenizer that keeps case already, or has no fast backend, is returned unchanged.
    """
    if not getattr(tokenizer, "is_fast", False):
        return tokenizer
    definition = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = _cased(definition["normalizer"])
    if kept == definition["normalizer"]:
        return tokenizer
    definition["normalizer"] = kept
    cased = copy.deepcopy(tokenizer)
    # Parts of a backend can only be replaced one by one: copy the normalizer from a whole tokenizer.
    cased.backend_tokenizer.normalizer = Tokenizer.from_str(json.dumps(definition)).normalizer
    return cased


def _cased(step: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a normalizer's definition without the steps that change case."""
    if step is None or step["type"] == "Lowercase":
        return None
    if step["type"] == "BertNormalizer" and step["lowercase"]:
        return {**step, "lowercase": False, "strip_accents": None}
    if step["type"] == "Sequence":
        steps = [kept for each in step["normalizers"] if (kept := _cased(each)) is not None]
        return {**step, "normalizers": steps}
    return step
