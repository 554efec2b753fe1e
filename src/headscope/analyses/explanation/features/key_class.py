"""Features of the key's class: the first token, a special token, punctuation, a line break."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import Delimiter
from headscope.analyses.explanation.features import SINK_LOGIT, Feature, Floats, Group, Values, pair_feature
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group("cls", "class of key", "{cls}"),
    Group("sep", "class of key", "{sep}"),
    Group(SINK_LOGIT, "class of key", "the learned sink"),
    Group("period_comma", "class of key", "periods and commas"),
    Group("punctuation", "class of key", "other punctuation"),
    Group("newline", "class of key", "line breaks"),
    Group("hidden", "class of key", "hidden words"),
)
_MARKS = (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)


def _of_class(key_class: KeyClass) -> Values:
    return lambda rows: rows.keys.classes == key_class


def _delimiter(delimiter: Delimiter) -> Values:
    return lambda rows: rows.vocabulary.of(rows.vocabulary.delimiters, rows.keys.ids) == delimiter


def _last_sep(rows: RowContext) -> NDArray[np.bool_]:
    is_sep = rows.keys.classes == KeyClass.SEP
    last = len(is_sep) - 1 - int(is_sep[::-1].argmax())
    return np.asarray(is_sep & (np.arange(len(is_sep)) == last))


def _nearest(*classes: KeyClass, side: int) -> Values:
    """Return a function that marks the nearest key of some classes on one side of the row."""

    def compute(rows: RowContext) -> Floats:
        at = np.flatnonzero(rows.keys.are(*classes))
        nearest = np.zeros(rows.visible.shape)
        index = np.searchsorted(at, rows.rows, side="left") - 1 if side < 0 else np.searchsorted(at, rows.rows, "right")
        known = (index >= 0) & (index < len(at))
        nearest[np.flatnonzero(known), at[index[known]]] = 1.0
        return nearest

    return compute


FEATURES = (
    Feature("first", "cls", "the first token", lambda rows: np.arange(len(rows.keys)) == 0),
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
    Feature("hidden", "hidden", "hidden words", lambda rows: rows.keys.ids == rows.vocabulary.hidden),
)
