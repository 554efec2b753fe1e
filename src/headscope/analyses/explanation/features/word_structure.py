"""Features of word pieces, of the row's word and of the neighboring words, and of the key's form."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group, Values
from headscope.analyses.explanation.row_context import RowContext, Tokens

GROUPS = (
    Group("word_pieces", "word structure", "pieces of the same word"),
    Group("word_before", "word structure", "the word before"),
    Group("word_after", "word structure", "the word after"),
    Group("form", "word structure", "tokens by their form", named_features=2),
)
_LETTERS = 12
"""Most letters of a token that are counted."""


def _piece(words: int, *, side: int = 0, part: str = "") -> Values:
    """Return a function that marks the pieces of the word at a distance from the row's word.

    Args:
        words: distance in words from the row's word, positive for later words.
        side: -1 for pieces before the row, 1 for pieces after it, 0 for both; the row itself is excluded.
        part: `first` or `last` piece of the word; all pieces if empty.
    """

    def values(rows: RowContext) -> NDArray[np.bool_]:
        pieces = (rows.words_away == words) & (rows.offset != 0)
        if side:
            pieces &= np.sign(rows.offset) == side
        if part == "first":
            pieces &= rows.keys.starts_word[None, :]
        elif part == "last":
            pieces &= rows.keys.ends_word[None, :]
        return np.asarray(pieces)

    return values


def lengths(rows: RowContext, tokens: Tokens) -> Floats:
    """Return log(1 + number of characters that each token completes, at most `_LETTERS`), `[token]`."""
    return np.log1p(np.minimum([len(text) for text in rows.texts_of(tokens)], _LETTERS))


def _capital(rows: RowContext) -> NDArray[np.bool_]:
    return np.array([text[:1].isupper() for text in rows.key_texts], dtype=bool)


def _digit(rows: RowContext) -> NDArray[np.bool_]:
    return np.array([text[:1].isdigit() for text in rows.key_texts], dtype=bool)


def _pair(name: str, group: str, sentence: str, values: Values) -> Feature:
    return Feature(name, group, sentence, values, needs=SAME_AXIS)


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
    Feature("word_start", "form", "first pieces of words", lambda rows: rows.of_text(rows.keys.starts_word)),
    Feature(
        "continuation",
        "form",
        "later pieces of words",
        lambda rows: rows.of_text(rows.keys.in_word > 0),
        opposite="whole words",
    ),
    Feature("ends_word", "form", "last pieces of words", lambda rows: rows.of_text(rows.keys.ends_word)),
    Feature(
        "length", "form", "long tokens", lambda rows: rows.of_text(lengths(rows, rows.keys)), opposite="short tokens"
    ),
    Feature("capital", "form", "capitalized tokens", lambda rows: rows.of_text(_capital(rows))),
    Feature("digit", "form", "digits", lambda rows: rows.of_text(_digit(rows))),
)
