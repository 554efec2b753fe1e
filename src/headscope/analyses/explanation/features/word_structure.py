"""Pieces of words: of the row's word, of the words beside it, and how the key is written."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group
from headscope.analyses.explanation.row_context import RowContext, Tokens

GROUPS = (
    Group(name="word_pieces", family="word structure", label="same word", phrase="pieces of the same word"),
    Group(name="word_before", family="word structure", label="word before", phrase="the word before"),
    Group(name="word_after", family="word structure", label="word after", phrase="the word after"),
    Group(
        name="form", family="word structure", label="form of the token", phrase="tokens by their form", by_feature=True
    ),
)
_LETTERS = 12
"""Letters of a token that count."""


def _piece(words: int, *, side: int = 0, part: str = "") -> Callable[[RowContext], Floats]:
    """Return a function to the pieces of the word so many words away.

    Args:
        words: number of words after the row's.
        side: -1 for pieces before the row, 1 for pieces after it, 0 for both; the row itself is none of them.
        part: `first` or `last` piece of the word; all when empty.
    """

    def compute(rows: RowContext) -> Floats:
        pieces = (rows.words_away == words) & (rows.offset != 0)
        if side:
            pieces &= np.sign(rows.offset) == side
        if part == "first":
            pieces &= rows.keys.starts_word[None, :]
        elif part == "last":
            pieces &= rows.keys.ends_word[None, :]
        return np.asarray(pieces, dtype=np.float64)

    return compute


def _of_tokens(values: Callable[[RowContext], NDArray[np.generic]]) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return rows.of_keys(values(rows))

    return compute


def lengths(rows: RowContext, tokens: Tokens) -> NDArray[np.float64]:
    """Return the logarithm of one more than the number of letters of tokens, `[token]`."""
    return np.asarray(np.log1p(np.minimum([len(text) for text in rows.texts_of(tokens)], _LETTERS)))


def _length(rows: RowContext) -> NDArray[np.float64]:
    return lengths(rows, rows.keys)


def _capital(rows: RowContext) -> NDArray[np.bool_]:
    return np.array([text[:1].isupper() for text in rows.key_texts], dtype=bool)


def _digit(rows: RowContext) -> NDArray[np.bool_]:
    return np.array([text[:1].isdigit() for text in rows.key_texts], dtype=bool)


def _pair(name: str, group: str, sentence: str, compute: Callable[[RowContext], Floats]) -> Feature:
    return Feature(name=name, group=group, label=sentence, sentence=sentence, compute=compute, needs=SAME_AXIS)


def _form(name: str, sentence: str, values: Callable[[RowContext], NDArray[np.generic]], opposite: str = "") -> Feature:
    return Feature(
        name=name, group="form", label=sentence, sentence=sentence, opposite=opposite, compute=_of_tokens(values)
    )


FEATURES = (
    _pair("earlier_piece", "word_pieces", "earlier pieces of the same word", _piece(0, side=-1)),
    _pair("later_piece", "word_pieces", "later pieces of the same word", _piece(0, side=1)),
    _pair("first_piece", "word_pieces", "the first piece of the same word", _piece(0, part="first")),
    _pair("last_piece", "word_pieces", "the last piece of the same word", _piece(0, part="last")),
    _pair("before_pieces", "word_before", "pieces of the word before", _piece(-1)),
    _pair("before_first", "word_before", "the first piece of the word before", _piece(-1, part="first")),
    _pair("before_last", "word_before", "the last piece of the word before", _piece(-1, part="last")),
    _pair("after_pieces", "word_after", "pieces of the word after", _piece(1)),
    _pair("after_first", "word_after", "the first piece of the word after", _piece(1, part="first")),
    _form("word_start", "first pieces of words", lambda rows: rows.keys.starts_word),
    _form("continuation", "later pieces of words", lambda rows: rows.keys.in_word > 0, "whole words"),
    _form("ends_word", "last pieces of words", lambda rows: rows.keys.ends_word),
    _form("length", "long tokens", _length, "short tokens"),
    _form("capital", "capitalized tokens", _capital),
    _form("digit", "digits", _digit),
)
