"""The words of a text, found from its characters, so that they are the same for every tokenizer."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD

LONGEST = 64
"""Maximum characters of a word; in a longer stretch without spaces (a protein, Thai) each token is a word."""
ACROSS = "some words are the tokenizer's: a token reaches across words, which are one"
LONG = f"some words are the tokenizer's: each token of a stretch of over {LONGEST} letters without spaces is a word"
UNTRACED = "words are not known: nothing tells which characters the tokens cover"
# Each character of these ranges is a word: hiragana and ideographs.
_ALONE = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BRACKETED = re.compile(r"<.*>|\[.*\]")
# Joiners, which belong to the characters around them as combining marks do.
_JOINERS = "\u00ad\u200c\u200d\u2060\ufe0e\ufe0f"


@cache
def _pattern() -> re.Pattern[str]:
    marks = "".join(
        chr(point)
        for points in (range(0x300, 0x20000), range(0xE0100, 0xE01F0))
        for point in points
        if unicodedata.category(chr(point))[0] == "M"
    )
    marks = re.escape(marks + _JOINERS)
    letter = rf"[^\W_{_ALONE}]"
    inner = rf"[.'\u2019](?={letter})|(?<=\d),(?=\d)"
    return re.compile(rf"[{_ALONE}][{marks}]*|{letter}(?:{letter}|[{marks}]|{inner})*|(?:[^\s\w\u200b]|_)+")


def text_words(text: str) -> NDArray[np.int64]:
    """Return the first character and the end of each word of a text, `[word, 2]`.

    A word is a run of letters, digits and combining marks, with apostrophes and periods between letters, and commas
    between digits (`didn't`, `18th`, `3.14`); or a run of other characters (`?"`). Hyphens belong to the second kind.
    """
    spans = [match.span() for match in _pattern().finditer(text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class PieceWords:
    """The words of a text, and the word of each piece of a tokenizer.

    Attributes:
        ids: index of each piece's word, from 0; `NO_WORD` for special tokens and pieces outside words, `[piece]`.
        spans: first character and end of each word, `[word, 2]`; empty if lines were joined.
        note: reason why some words are the tokenizer's (`ACROSS`, `LONG`, `UNTRACED`); empty if none is.
        text: the text; empty if lines were joined, or if the words are not known.
    """

    ids: NDArray[np.int64]
    spans: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    note: str = ""
    text: str = field(default="", repr=False)

    @classmethod
    def none(cls, pieces: int, *, note: str = "") -> "PieceWords":
        """Return the words of pieces that do not belong to a word."""
        return cls(np.full(pieces, NO_WORD, dtype=np.int64), note=note)

    def part(self, kept: slice) -> "PieceWords":
        """Return the words of some pieces."""
        return replace(self, ids=self.ids[kept])

    def among(self, pieces: int, places: NDArray[np.int64]) -> "PieceWords":
        """Return the words of pieces that are placed among pieces without a word, at the given positions, `[piece]`.

        If a template writes a text twice, which `Encoder` refuses, there are more positions than pieces of the text.
        """
        ids = np.full(pieces, NO_WORD, dtype=np.int64)
        known = self.ids[: len(places)]
        ids[places[: len(known)]] = known
        return replace(self, ids=ids)


def joined_words(parts: Sequence[PieceWords]) -> PieceWords:
    """Return the words of texts that are joined, with consecutive numbers."""
    if len(parts) == 1:
        return parts[0]
    ids, following = [], 0
    for part in parts:
        ids.append(np.where(part.ids == NO_WORD, NO_WORD, part.ids + following))
        following += max(len(part.spans), int(part.ids.max(initial=NO_WORD)) + 1)
    return PieceWords(np.concatenate(ids), note=next((part.note for part in parts if part.note), ""))


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the ids of the tokenizer's special tokens, except the piece for unknown text."""
    return frozenset(int(i) for i in getattr(tokenizer, "all_special_ids", ())) - {tokenizer.unk_token_id}


class WordFinder:
    """Find the words of a tokenizer's texts.

    Args:
        tokenizer: a transformers tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._special = special_ids(tokenizer)
        # In a tokenizer of single letters without a space (ESM), each letter is a word.
        letters = [name for name in tokenizer.get_vocab() if not _BRACKETED.fullmatch(str(name))]
        self._piecewise = all(len(name) == 1 and not name.isspace() and not name.islower() for name in letters)

    def __call__(self, text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]]) -> PieceWords:
        """Return the words of a text's pieces.

        Args:
            text: the text.
            ids: ids of the text's pieces.
            offsets: first character and end of each piece; empty if they are not known.
        """
        if len(offsets) < len(ids):
            return PieceWords.none(len(ids), note=UNTRACED)
        special = np.zeros(len(ids), dtype=bool)
        if not self._special.isdisjoint(ids):
            special = np.array([number in self._special for number in ids])
        return piece_words(text, offsets, special=special, piecewise=self._piecewise)


def piece_words(
    text: str, offsets: Sequence[tuple[int, int]], *, special: NDArray[np.bool_], piecewise: bool = False
) -> PieceWords:
    """Assign to each piece the word that it covers; words that share a piece are joined to one.

    Args:
        text: the text that was tokenized.
        offsets: first character and end of each piece.
        special: whether each piece is a special token written in the text, `[piece]`.
        piecewise: whether each piece is a word (amino acids).
    """
    bounds = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    starts, ends = bounds.T
    spans = text_words(text)
    long = (spans[:, 1] - spans[:, 0] > LONGEST) | piecewise
    if long.any():
        spans = _with_pieces(text, spans, long, bounds)
    first = np.searchsorted(spans[:, 1], starts, side="right")
    last = np.searchsorted(spans[:, 0], ends, side="left") - 1
    covers = (starts < ends) & (first <= last) & ~special
    note = LONG if long.any() and not piecewise else ""
    across = covers & (last > first)
    if across.any():
        note = ACROSS
        spans, number = _joined(spans, first[across], last[across])
        first = number[first.clip(max=len(number) - 1)]
    ids = np.where(covers, first, NO_WORD)
    # If the space before a word is a separate piece, it belongs to the word.
    for piece in np.flatnonzero(~(covers | special)[:-1])[::-1].tolist():
        if ends[piece] == starts[piece + 1] and not text[starts[piece] : ends[piece]].strip():
            ids[piece] = ids[piece + 1]
    return PieceWords(ids=ids, spans=spans, note=note, text=text)


def _joined(
    spans: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Join the words from each `first` to its `last`; return the remaining spans, and each old word's new number."""
    enters = np.zeros(len(spans) + 1, dtype=np.int64)
    np.add.at(enters, first + 1, 1)
    np.add.at(enters, last + 1, -1)
    begins = np.cumsum(enters)[:-1] == 0
    starts = np.flatnonzero(begins)
    joined = np.stack([spans[starts, 0], np.maximum.reduceat(spans[:, 1], starts)], axis=1)
    return joined, np.cumsum(begins) - 1


def _with_pieces(
    text: str, spans: NDArray[np.int64], long: NDArray[np.bool_], pieces: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Replace some words by pieces, cut to the word; a combining mark stays with the character that it modifies."""
    out = spans[~long].tolist()
    for word_start, word_end in spans[long].tolist():
        inside = pieces[(pieces[:, 0] < word_end) & (pieces[:, 1] > word_start)].clip(word_start, word_end)
        for start, end in np.unique(inside, axis=0).tolist():
            if start > word_start and unicodedata.category(text[start])[0] == "M":
                out[-1][1] = max(out[-1][1], end)
            else:
                out.append([start, end])
    return np.array(sorted(out), dtype=np.int64).reshape(-1, 2)
