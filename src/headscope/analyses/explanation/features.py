"""Features of a pair of query and key, in groups; here those of the key's position, and of its class.

The position is the offset from the row, the sentence, and the position in the input. Classes are the first token,
special tokens, punctuation and line breaks.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import Delimiter
from headscope.analyses.explanation.row_block import Doubles, Flags, Integers, Singles
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

Need = Literal["same_axis", "tags", "trees", "mentions"]
"""A requirement of a feature: queries and keys are the same tokens (not so in cross attention), or annotation."""
ATTENDING = "attending_token"
"""The name of the group of products with facts on the attending token."""
TOKENS, SINK_LOGIT = "tokens", "sink_logit"
"""Groups without features: a column for each frequent token, and one for a learned sink."""
SAME_AXIS: frozenset[Need] = frozenset({"same_axis"})
Values = Callable[[RowContext], NDArray[Any]]
"""A function from some rows of one input to numbers or booleans for each key, `[key]`, or each pair, `[row, key]`."""


@dataclass(frozen=True)
class Group:
    """Features that are added to an explanation together.

    Attributes:
        name: name in tables.
        role: color of heads that look at these tokens, by its name in the palette.
        phrase: phrase in sentences, `attends to {phrase}`; `{cls}` and `{sep}` are replaced by the names of special
            tokens.
        named_features: number of its strongest features that a sentence names in place of the phrase if they account
            for the group; a single named feature must account for most of the pull.
        of_others: True if its columns are products of other columns; such a group is tried after all other groups.
    """

    name: str
    role: str
    phrase: str
    _: KW_ONLY
    named_features: int = 0
    of_others: bool = False


@dataclass(frozen=True)
class Feature:
    """A number for every pair of query and key.

    Attributes:
        name: name in tables.
        group: name of its group.
        sentence: description of the keys for which the feature is 1, or large: `the previous token`.
        values: function that computes finite values for some rows of one input; values at keys that a row cannot see
            are ignored.
        opposite: description of the keys for which the feature is small, if it is not boolean: `rare tokens`.
        needs: requirements without which the feature cannot be computed.
    """

    name: str
    group: str
    sentence: str
    values: Values
    opposite: str = ""
    _: KW_ONLY
    needs: frozenset[Need] = frozenset()

    def cells(self, rows: RowContext, row: Integers, key: Integers) -> Singles:
        """Compute the feature for some cells of one input, `[cell]`.

        Args:
            rows: rows of the input.
            row: index of the row of each cell, `[cell]`.
            key: position of the key of each cell, `[cell]`.
        """
        values = np.asarray(self.values(rows))
        return (values[key] if values.ndim == 1 else values[row, key]).astype(np.float32)


def pair_feature(
    name: str, group: str, sentence: str, values: Values, opposite: str = "", *, needs: frozenset[Need] = SAME_AXIS
) -> Feature:
    """Return a feature of two tokens of one axis."""
    return Feature(name, group, sentence, values, opposite, needs=needs)


GROUPS = (
    Group("previous", "previous", "the previous token"),
    Group("next", "next", "the next token"),
    Group("current", "copies", "the token itself"),
    Group("distance", "position", "nearby tokens", named_features=1),
    Group("side", "position", "earlier tokens"),
    Group("sentence", "position", "its own sentence", named_features=1),
    Group("place", "position", "tokens by their place in the input", named_features=2),
    Group("cls", "cls", "{cls}"),
    Group("sep", "period_comma", "{sep}"),
    Group(SINK_LOGIT, "cls", "the learned sink"),
    Group("period_comma", "period_comma", "periods and commas"),
    Group("punctuation", "period_comma", "other punctuation"),
    Group("newline", "period_comma", "line breaks"),
    Group("hidden", "period_comma", "masked words"),
)
OFFSETS = ("previous", "next", "current", "distance", "side", "place")
"""The groups that depend on positions alone, not on the tokens."""
_BINS = ((-3, -2), (2, 3), (-5, -4), (4, 5), (-8, -6), (6, 8), (-16, -9), (9, 16))
"""Offsets that share a coefficient; the logarithm of the distance models the rest."""
_MARKS = (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)


def _log_distance(side: int) -> Values:
    return lambda rows: np.log1p(np.maximum(side * rows.offset, 0))


def _sentences_apart(rows: RowContext) -> Doubles:
    return np.abs(rows.sentences - rows.of_rows(rows.sentences))


def _edge_of_sentence(*, last: bool) -> Values:
    """Return a function that marks the first or the last key of each row's sentence."""

    def values(rows: RowContext) -> Flags:
        changes = rows.sentences[1:] != rows.sentences[:-1]
        edges = np.append(changes, True) if last else np.append(True, changes)
        return np.asarray((_sentences_apart(rows) == 0) & edges)

    return values


def _at(name: str, sentence: str, first: int, last: int, group: str = "distance", opposite: str = "") -> Feature:
    return pair_feature(name, group, sentence, lambda rows: (rows.offset >= first) & (rows.offset <= last), opposite)


def _binned(first: int, last: int) -> Feature:
    side = "before" if last < 0 else "after"
    near, far = sorted((abs(first), abs(last)))
    return _at(f"{side}_{near}_{far}", f"tokens {near} to {far} {side} it", first, last)


def _of_class(key_class: KeyClass) -> Values:
    return lambda rows: rows.keys.classes == key_class


def _delimiter(delimiter: Delimiter) -> Values:
    return lambda rows: rows.vocabulary.of(rows.vocabulary.delimiters, rows.keys.ids) == delimiter


def _places(rows: RowContext) -> Integers:
    return np.arange(len(rows.keys))


def _relative_place(rows: RowContext) -> Doubles:
    return rows.of_text(_places(rows) / max(1, len(rows.keys) - 1))


def _last_sep(rows: RowContext) -> Flags:
    is_sep = rows.keys.classes == KeyClass.SEP
    return np.asarray(is_sep & (np.cumsum(is_sep) == is_sep.sum()))


def _nearest(*classes: KeyClass, side: int) -> Values:
    """Return a function that marks the nearest key of some classes on one side of the row."""

    def compute(rows: RowContext) -> Doubles:
        at = np.flatnonzero(rows.keys.are(*classes))
        nearest = np.zeros(rows.visible.shape)
        index = np.searchsorted(at, rows.rows, side="left") - 1 if side < 0 else np.searchsorted(at, rows.rows, "right")
        known = (index >= 0) & (index < len(at))
        nearest[np.flatnonzero(known), at[index[known]]] = 1.0
        return nearest

    return compute


FEATURES = (
    _at("previous", "the previous token", -1, -1, "previous"),
    _at("next", "the next token", 1, 1, "next"),
    _at("current", "the token itself", 0, 0, "current"),
    _at("before_2", "the token before the previous one", -2, -2),
    _at("after_2", "the token after the next one", 2, 2),
    *(_binned(first, last) for first, last in _BINS),
    pair_feature("log_distance_back", "distance", "distant earlier tokens", _log_distance(-1), "earlier tokens nearby"),
    pair_feature("log_distance_forward", "distance", "distant later tokens", _log_distance(1), "later tokens nearby"),
    _at("earlier", "earlier tokens", -(1 << 30), -1, "side", "the token itself and later tokens"),
    pair_feature(
        "same_sentence", "sentence", "its own sentence", lambda rows: _sentences_apart(rows) == 0, "other sentences"
    ),
    pair_feature("sentences_apart", "sentence", "distant sentences", _sentences_apart, "sentences nearby"),
    pair_feature("ends_sentence", "sentence", "the end of its sentence", _edge_of_sentence(last=True)),
    pair_feature("begins_sentence", "sentence", "the beginning of its sentence", _edge_of_sentence(last=False)),
    Feature("log_place", "place", "late tokens", lambda rows: rows.of_text(np.log1p(_places(rows))), "early tokens"),
    Feature("relative_place", "place", "late tokens", _relative_place, "early tokens"),
    Feature("first", "cls", "the first token", lambda rows: _places(rows) == 0),
    Feature("cls", "cls", "{cls}", _of_class(KeyClass.CLS)),
    Feature("sep", "sep", "{sep}", _of_class(KeyClass.SEP)),
    Feature("last_sep", "sep", "the last {sep}", _last_sep),
    pair_feature("next_sep", "sep", "the next {sep}", _nearest(KeyClass.SEP, side=1)),
    Feature("period", "period_comma", "periods", lambda rows: rows.key_texts == "."),
    Feature("period_comma", "period_comma", "periods and commas", _of_class(KeyClass.PERIOD_COMMA)),
    pair_feature("last_mark", "period_comma", "the last punctuation before it", _nearest(*_MARKS, side=-1)),
    pair_feature("next_mark", "period_comma", "the next punctuation after it", _nearest(*_MARKS, side=1)),
    Feature("other_punctuation", "punctuation", "other punctuation", _of_class(KeyClass.OTHER_PUNCTUATION)),
    Feature("quote", "punctuation", "quotation marks", _delimiter(Delimiter.QUOTE)),
    Feature("bracket", "punctuation", "brackets", _delimiter(Delimiter.BRACKET)),
    Feature("newline", "newline", "line breaks", _delimiter(Delimiter.NEWLINE)),
    Feature("blank", "newline", "blanks", _delimiter(Delimiter.BLANK)),
    Feature("hidden", "hidden", "masked words", lambda rows: rows.keys.ids == rows.vocabulary.hidden),
)  # fmt: skip
