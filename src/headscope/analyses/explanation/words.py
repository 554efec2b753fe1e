"""Features of words: copies, pieces of a word, neighboring words, form, frequency; and kinds of words.

Tokens with similar embeddings are of one kind. A kind is a direction among the leading principal components of the
token embeddings of the model. The groups of kinds describe the attended words, the words before them, words nearby, and
pairs of attending and attended words.
"""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.features import ATTENDING, TOKENS, Feature, Group, Values, pair_feature
from headscope.analyses.explanation.row_block import Doubles, Flags, Singles
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group("same_token", "copies", "other copies of the token"),
    Group("induction", "after_copy", "tokens right after an earlier copy of the token"),
    Group("before_copy", "copies", "tokens right before another copy of the token"),
    Group("same_word", "copies", "the same word elsewhere"),
    Group("word_pieces", "word", "pieces of the same word"),
    Group("word_before", "word", "the word before"),
    Group("word_after", "word", "the word after"),
    Group("form", "word", "tokens by their form", named_features=2),
    Group("frequency", "content", "tokens by how frequent they are", named_features=1),
    Group(TOKENS, "content", "particular tokens"),
)
STEM, ENDING = 4, 3
"""Least number of letters of a stem, and most letters of an ending."""
_LETTERS = 12
"""Most letters of a token that are counted."""


def _copies(rows: RowContext, side: int) -> Flags:
    """Return a mask of the keys with the row's id before (-1) or after (1) the row, `[row, key]`.

    Special tokens have no copies, and a mask token is not a copy of another mask token.
    """
    if not rows.same_ids:
        return np.zeros(rows.visible.shape, dtype=bool)
    special = rows.queries.are(KeyClass.CLS, KeyClass.SEP)
    special |= rows.queries.ids == rows.vocabulary.hidden
    same = rows.keys.ids[None, :] == rows.queries.ids[rows.rows, None]
    return np.asarray(same & ~special[rows.rows, None] & (np.sign(rows.offset) == side))


def _shifted(keys: Flags, by: int) -> Flags:
    """Shift a mask of keys by a number of tokens, to later keys if the number is positive."""
    shifted = np.zeros_like(keys)
    if by > 0:
        shifted[:, by:] = keys[:, :-by]
    else:
        shifted[:, :by] = keys[:, -by:]
    return shifted


def _last_copy(rows: RowContext) -> Flags:
    """Return a mask of the nearest copy before each row."""
    earlier = _copies(rows, -1)
    nearest = np.zeros_like(earlier)
    last = earlier.shape[1] - 1 - earlier[:, ::-1].argmax(1)
    known = np.flatnonzero(earlier.any(1))
    nearest[known, last[known]] = True
    return nearest


def _behind_two(rows: RowContext) -> Flags:
    """Return a mask of the keys right after an earlier copy of the row's token and of the token before it."""
    ids = rows.queries.ids
    before_row = np.where(rows.rows > 0, ids[rows.rows - 1], -1)
    both = _copies(rows, -1)
    both[:, 1:] &= ids[None, :-1] == before_row[:, None]
    both[:, 0] = False
    return _shifted(both, 1) & (rows.offset < 0)


def _same_word(rows: RowContext) -> Flags:
    """Return a mask of the keys in other occurrences of the row's word, compared in lower case."""
    of_rows = rows.word_numbers[rows.rows, None]
    same = (rows.word_numbers[None, :] == of_rows) & (of_rows >= 0)
    return np.asarray(same & (rows.keys.word_ids[None, :] != rows.queries.word_ids[rows.rows, None]))


def _other_ending(rows: RowContext) -> Flags:
    """Return a mask of the keys in words with the stem of the row's word and another ending."""
    begins: dict[str, list[int]] = {}
    for word, text in rows.words.items():
        if text.isalpha():
            begins.setdefault(text[:STEM], []).append(word)
    related = np.zeros(rows.visible.shape, dtype=bool)
    for index, word in enumerate(rows.queries.word_ids[rows.rows].tolist()):
        text = rows.words.get(word, "")
        others = [other for other in begins.get(text[:STEM], ()) if one_stem(text, rows.words[other])]
        if others:
            related[index] = np.isin(rows.keys.word_ids, others)
    return related


def one_stem(word: str, other: str) -> bool:
    """Return True if two words share a stem and differ in their endings: *walks* and *walking*."""
    differs = (at for at, pair in enumerate(zip(word, other, strict=False)) if len(set(pair)) > 1)
    common = next(differs, min(len(word), len(other)))
    return word != other and common >= STEM and max(len(word), len(other)) - common <= ENDING


def _piece(words: int, *, side: int = 0, part: str = "") -> Values:
    """Return a function that marks the pieces of the word at a distance from the row's word.

    Args:
        words: distance in words from the row's word, positive for later words.
        side: -1 for pieces before the row, 1 for pieces after it, 0 for both; the row itself is excluded.
        part: `first` or `last` piece of the word; all pieces if empty.
    """

    def values(rows: RowContext) -> Flags:
        pieces = (rows.words_away == words) & (rows.offset != 0)
        if side:
            pieces &= np.sign(rows.offset) == side
        if part == "first":
            pieces &= rows.keys.starts_word[None, :]
        elif part == "last":
            pieces &= rows.keys.ends_word[None, :]
        return np.asarray(pieces)

    return values


def lengths(rows: RowContext, tokens: Tokens) -> Doubles:
    """Return log(1 + number of characters that each token completes, at most `_LETTERS`), `[token]`."""
    return np.log1p(np.minimum([len(text) for text in rows.texts_of(tokens)], _LETTERS))


def _begins(test: Callable[[str], bool]) -> Values:
    """Return a function that tests the first character of each key."""
    return lambda rows: rows.of_text(np.array([test(text[:1]) for text in rows.key_texts], dtype=bool))


def _log_frequency(rows: RowContext) -> Doubles:
    return rows.of_text(rows.vocabulary.of(rows.vocabulary.log_frequency, rows.keys.ids))


def _log_frequency_squared(rows: RowContext) -> Doubles:
    return _log_frequency(rows) ** 2 / 10


def _continues_word(rows: RowContext) -> Doubles:
    return rows.of_text(rows.keys.in_word > 0)


_COPIES = tuple(
    pair_feature(name, group, sentence, values)
    for name, group, sentence, values in (
        ("earlier_copy", "same_token", "earlier copies of the token", lambda rows: _copies(rows, -1)),
        ("later_copy", "same_token", "later copies of the token", lambda rows: _copies(rows, 1)),
        ("last_copy", "same_token", "the last copy of the token", _last_copy),
        ("behind_copy", "induction", "tokens right after an earlier copy of the token",
         lambda rows: _shifted(_copies(rows, -1), 1) & (rows.offset < 0)),
        ("behind_last_copy", "induction", "the token right after its last copy",
         lambda rows: _shifted(_last_copy(rows), 1) & (rows.offset < 0)),
        ("behind_two", "induction", "tokens right after an earlier copy of the last two tokens", _behind_two),
        ("before_earlier_copy", "before_copy", "tokens right before an earlier copy of the token",
         lambda rows: _shifted(_copies(rows, -1), -1)),
        ("before_later_copy", "before_copy", "tokens right before a later copy of the token",
         lambda rows: _shifted(_copies(rows, 1), -1) & (rows.offset > 0)),
        ("behind_later_copy", "before_copy", "tokens right after a later copy of the token",
         lambda rows: _shifted(_copies(rows, 1), 1)),
        ("same_word", "same_word", "the same word elsewhere", _same_word),
        ("other_ending", "same_word", "the same word with another ending", _other_ending),
    )
)  # fmt: skip
FEATURES = (
    *_COPIES,
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
    Feature("continuation", "form", "later pieces of words", _continues_word, "whole words"),
    Feature("ends_word", "form", "last pieces of words", lambda rows: rows.of_text(rows.keys.ends_word)),
    Feature("length", "form", "long tokens", lambda rows: rows.of_text(lengths(rows, rows.keys)), "short tokens"),
    Feature("capital", "form", "capitalized tokens", _begins(str.isupper)),
    Feature("digit", "form", "digits", _begins(str.isdigit)),
    # Biases of particular tokens are fitted without a feature.
    Feature("log_frequency", "frequency", "frequent tokens", _log_frequency, "rare tokens"),
    Feature("log_frequency_squared", "frequency", "frequent tokens", _log_frequency_squared, "rare tokens"),
)  # fmt: skip

KINDS, AFTER, NEARBY = "word_kinds", "after_words", "nearby_words"
PAIRS, PAIRS_AFTER = "word_pairs", "pairs_after"
KIND_GROUPS = (
    Group(KINDS, "content", "some kinds of words"),
    Group(AFTER, "content", "words after some kinds of words"),
    Group(NEARBY, "content", "some kinds of words nearby", of_others=True),
    Group(PAIRS, "content", "some kinds of words from some others", of_others=True),
    Group(PAIRS_AFTER, "content", "words after some kinds of words from some others", of_others=True),
    Group(ATTENDING, "broad", "varies with the attending token", of_others=True),
)
PAIRED, PAIRED_AFTER, NEAR = 8, 6, 6
"""Number of embedding components in products of both tokens of a pair, of the attending token and the token before the
key, and of the key with position features."""
NEAR_FEATURES = (
    *("previous", "next", "current", "before_2", "after_2"),
    *("log_distance_back", "log_distance_forward", "same_sentence"),
)
"""Position features whose weight varies with the kind of the key's word."""
LOCATED = ("cls", "sep", "last_sep", "previous", "next", "current", "period_comma")
"""Features of the key whose weight varies with the kind of the attending word."""
VARIED = (
    *LOCATED,
    *("first", "other_punctuation", "digit", "capital"),
    *("word_start", "ends_word", "continuation", "length", "log_frequency", "log_frequency_squared"),
    *("before_2", "after_2", "log_distance_back", "log_distance_forward"),
    *("earlier", "same_sentence", "log_place", "last_mark", "next_mark", "earlier_copy"),
)
"""Features of the key whose weight varies with `QUERY_FACTS`; those of `LOCATED` come first."""
QUERY_FACTS = (
    *("first token", "separator", "punctuation", "later piece of a word", "frequency"),
    *("last piece of a word", "length"),
)


def query_facts(rows: RowContext) -> Singles:
    """Return the facts on the attending token of each row that `QUERY_FACTS` names, `[row, fact]`."""
    queries, vocabulary = rows.queries, rows.vocabulary
    frequency = vocabulary.of(vocabulary.log_frequency, queries.ids)
    # Tokens outside the sample get the mean frequency: predictions far from the fitted range are arbitrary.
    frequency = np.where(frequency > 0, frequency - vocabulary.mean_log_frequency, 0.0)
    facts = (
        queries.are(KeyClass.CLS),
        queries.are(KeyClass.SEP),
        queries.are(KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION),
        (queries.in_word > 0) & (queries.classes == KeyClass.OTHER),
        frequency,
        queries.ends_word,
        lengths(rows, queries),
    )
    return np.stack(facts, axis=1)[rows.rows].astype(np.float32)
