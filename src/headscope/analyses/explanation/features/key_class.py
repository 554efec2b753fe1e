"""What class of token the key is: the first token, a special token, punctuation, a line break."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.behaviors.catalog import Delimiter
from headscope.analyses.explanation.feature import SAME_AXIS, SINK_LOGIT, Feature, Floats, Group
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group(name="cls", family="class of key", label="{cls}", phrase="{cls}"),
    Group(name="sep", family="class of key", label="{sep}", phrase="{sep}"),
    Group(name=SINK_LOGIT, family="class of key", label="learned sink", phrase="the learned sink"),
    Group(name="period_comma", family="class of key", label="periods and commas", phrase="periods and commas"),
    Group(name="punctuation", family="class of key", label="other punctuation", phrase="other punctuation"),
    Group(name="newline", family="class of key", label="line breaks", phrase="line breaks"),
    Group(name="hidden", family="class of key", label="hidden words", phrase="hidden words"),
)


def _of_class(*classes: KeyClass) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return rows.of_keys(rows.keys.are(*classes))

    return compute


def _delimiter(*delimiters: Delimiter) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return rows.of_keys(np.isin(rows.vocabulary.of(rows.vocabulary.delimiters, rows.keys.ids), delimiters))

    return compute


def _written(*texts: str) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return rows.of_keys(np.isin(rows.key_texts, texts))

    return compute


def _first(rows: RowContext) -> Floats:
    return rows.of_keys(np.arange(len(rows.keys)) == 0)


def _hidden(rows: RowContext) -> Floats:
    return rows.of_keys(rows.keys.ids == rows.vocabulary.hidden)


def _last_sep(rows: RowContext) -> Floats:
    is_sep = rows.keys.classes == KeyClass.SEP
    last = len(is_sep) - 1 - int(is_sep[::-1].argmax())
    return rows.of_keys(is_sep & (np.arange(len(is_sep)) == last))


def _nearest(*classes: KeyClass, side: int) -> Callable[[RowContext], Floats]:
    """Return a function to the nearest key of some classes on one side of the row."""

    def compute(rows: RowContext) -> Floats:
        at = np.flatnonzero(rows.keys.are(*classes))
        nearest = np.zeros(rows.visible.shape)
        if side < 0:
            index = np.searchsorted(at, rows.rows, side="left") - 1
            known = index >= 0
        else:
            index = np.searchsorted(at, rows.rows, side="right")
            known = index < len(at)
        nearest[np.flatnonzero(known), at[index[known]]] = 1.0
        return nearest

    return compute


_MARKS = (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)


def _key(name: str, group: str, label: str, compute: Callable[[RowContext], Floats]) -> Feature:
    return Feature(name=name, group=group, label=label, sentence=label, compute=compute)


FEATURES = (
    _key("first", "cls", "the first token", _first),
    _key("cls", "cls", "{cls}", _of_class(KeyClass.CLS)),
    _key("sep", "sep", "{sep}", _of_class(KeyClass.SEP)),
    _key("last_sep", "sep", "the last {sep}", _last_sep),
    Feature(
        name="next_sep", group="sep", label="the next {sep}", sentence="the next {sep}",
        compute=_nearest(KeyClass.SEP, side=1), needs=SAME_AXIS,
    ),
    _key("period", "period_comma", "periods", _written(".")),
    _key("period_comma", "period_comma", "periods and commas", _of_class(KeyClass.PERIOD_COMMA)),
    Feature(
        name="last_mark", group="period_comma", label="the last punctuation before it",
        sentence="the last punctuation before it", compute=_nearest(*_MARKS, side=-1), needs=SAME_AXIS,
    ),
    Feature(
        name="next_mark", group="period_comma", label="the next punctuation after it",
        sentence="the next punctuation after it", compute=_nearest(*_MARKS, side=1), needs=SAME_AXIS,
    ),
    _key("other_punctuation", "punctuation", "other punctuation", _of_class(KeyClass.OTHER_PUNCTUATION)),
    _key("quote", "punctuation", "quotation marks", _delimiter(Delimiter.QUOTE)),
    _key("bracket", "punctuation", "brackets", _delimiter(Delimiter.BRACKET)),
    _key("newline", "newline", "line breaks", _delimiter(Delimiter.NEWLINE)),
    _key("blank", "newline", "blanks", _delimiter(Delimiter.BLANK)),
    _key("hidden", "hidden", "hidden words", _hidden),
)  # fmt: skip
