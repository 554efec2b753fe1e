"""Features of word pieces, of the row's word and of the neighboring words, and of the key's form and frequency."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.features import TOKENS, Feature, Floats, Group, Values, pair_feature
from headscope.analyses.explanation.row_context import RowContext, Tokens

GROUPS = (
    Group("word_pieces", "word structure", "pieces of the same word"),
    Group("word_before", "word structure", "the word before"),
    Group("word_after", "word structure", "the word after"),
    Group("form", "word structure", "tokens by their form", named_features=2),
    Group("frequency", "content", "tokens by how frequent they are", named_features=1),
    Group(TOKENS, "content", "particular tokens"),
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


def _begins(test: Callable[[str], bool]) -> Values:
    """Return a function that tests the first character of each key."""
    return lambda rows: rows.of_text(np.array([test(text[:1]) for text in rows.key_texts], dtype=bool))


def _log_frequency(rows: RowContext) -> Floats:
    return rows.of_text(rows.vocabulary.of(rows.vocabulary.log_frequency, rows.keys.ids))


FEATURES = (
    pair_feature("earlier_piece", "word_pieces", "earlier pieces of the same word", _piece(0, side=-1)),
    pair_feature("later_piece", "word_pieces", "later pieces of the same word", _piece(0, side=1)),
    pair_feature("first_piece", "word_pieces", "the first piece of the same word", _piece(0, part="first")),
    pair_feature("last_piece", "word_pieces", "the last piece of the same word", _piece(0, part="last")),
    pair_feature("before_pieces", "word_before", "pieces of the word before", _piece(-1)),
    pair_feature("before_first", "word_before", "the first piece of the word before", _piece(-1, part="first")),
    pair_feature("before_last", "word_before", "the last piece of the word before", _piece(-1, part="last")),
    pair_feature("after_pieces", "word_after", "pieces of the word after", _piece(1)),
    pair_feature("after_first", "word_after", "the first piece of the word after", _piece(1, part="first")),
    Feature("word_start", "form", "first pieces of words", lambda rows: rows.of_text(rows.keys.starts_word)),
    Feature(
        "continuation", "form", "later pieces of words", lambda rows: rows.of_text(rows.keys.in_word > 0),
        opposite="whole words",
    ),
    Feature("ends_word", "form", "last pieces of words", lambda rows: rows.of_text(rows.keys.ends_word)),
    Feature(
        "length", "form", "long tokens", lambda rows: rows.of_text(lengths(rows, rows.keys)), opposite="short tokens"
    ),
    Feature("capital", "form", "capitalized tokens", _begins(str.isupper)),
    Feature("digit", "form", "digits", _begins(str.isdigit)),
    # Biases of particular tokens are fitted without a feature.
    Feature("log_frequency", "frequency", "frequent tokens", _log_frequency, opposite="rare tokens"),
    Feature(
        "log_frequency_squared", "frequency", "frequent tokens", lambda rows: _log_frequency(rows) ** 2 / 10,
        opposite="rare tokens",
    ),
)  # fmt: skip
