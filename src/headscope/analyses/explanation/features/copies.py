"""Features of copies of the row's token or word, and of the tokens next to copies."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.features import Group, pair_feature
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group("same_token", "copies", "other copies of the token"),
    Group("induction", "copies", "tokens right after an earlier copy of the token"),
    Group("before_copy", "copies", "tokens right before another copy of the token"),
    Group("same_word", "copies", "the same word elsewhere"),
)
Flags = NDArray[np.bool_]
STEM, ENDING = 4, 3
"""Least number of letters of a stem, and most letters of an ending."""


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


FEATURES = tuple(
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
