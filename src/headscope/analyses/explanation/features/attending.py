"""What attends: features of the key that count for some classes of query, or more for frequent ones."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.feature import ATTENDING, SAME_AXIS, Feature, Floats, Group
from headscope.analyses.explanation.features import content, copies, key_class, position, word_structure
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group(
        name="attending_place",
        family=ATTENDING,
        label="what attends, by distance",
        phrase="tokens by what attends",
        of_others=True,
    ),
    Group(
        name="attending_frequency",
        family=ATTENDING,
        label="what attends, by frequency",
        phrase="tokens by how frequent what attends is",
        of_others=True,
    ),
    Group(
        name="attending_end",
        family=ATTENDING,
        label="what attends, by whether it ends a word",
        phrase="tokens by whether what attends ends a word",
        of_others=True,
    ),
    Group(
        name="attending_length",
        family=ATTENDING,
        label="what attends, by length",
        phrase="tokens by how long what attends is",
        of_others=True,
    ),
)
_BY_NAME = {
    feature.name: feature
    for module in (position, key_class, copies, word_structure, content)
    for feature in module.FEATURES
}
_LOCATIONS = (
    *("previous", "next", "current", "before_2", "after_2", "log_distance_back", "log_distance_forward", "earlier"),
    *("same_sentence", "log_place", "log_frequency", "last_mark", "next_mark"),
)
_BY_FREQUENCY = ("cls", "sep", "period_comma", "continuation", "earlier_copy", *_LOCATIONS)
_BY_FORM = (
    *("first", "period_comma", "other_punctuation", "digit", "capital", "word_start", "ends_word", "length"),
    *("log_frequency", "log_frequency_squared", "previous", "log_distance_back", "log_place", "earlier_copy"),
)
Of = Callable[[RowContext], Floats]


def _of_class(*classes: KeyClass) -> Of:
    return lambda rows: rows.of_rows(rows.queries.are(*classes))


def _goes_on(rows: RowContext) -> Floats:
    return rows.of_rows((rows.queries.in_word > 0) & (rows.queries.classes == KeyClass.OTHER))


def _frequency(rows: RowContext) -> Floats:
    of_ids = rows.vocabulary.of(rows.vocabulary.log_frequency, rows.queries.ids)
    return rows.of_rows(of_ids - rows.vocabulary.mean_log_frequency)


def _ends_word(rows: RowContext) -> Floats:
    return rows.of_rows(rows.queries.ends_word)


def _length(rows: RowContext) -> Floats:
    return rows.of_rows(word_structure.lengths(rows, rows.queries))


_ATTENDING: dict[str, tuple[str, Of]] = {
    "special": ("special tokens", _of_class(KeyClass.CLS, KeyClass.SEP)),
    "mark": ("punctuation", _of_class(KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)),
    "continuation": ("later pieces of words", _goes_on),
}
"""Classes of query by name: what they are, and which rows are of one. Other rows begin words,
and have no products: their attention is what the other groups say."""


def _product(name: str, group: str, attending: str, of_rows: Of, feature: Feature) -> Feature:
    def compute(rows: RowContext) -> Floats:
        return np.asarray(of_rows(rows) * feature.compute(rows))

    return Feature(
        name=f"{name}_{feature.name}",
        group=group,
        label=f"{feature.label}, from {attending}",
        sentence=f"{feature.sentence} from {attending}",
        compute=compute,
        needs=SAME_AXIS | feature.needs,
    )


FEATURES = (
    *(
        _product(name, "attending_place", attending, of_rows, _BY_NAME[location])
        for name, (attending, of_rows) in _ATTENDING.items()
        for location in _LOCATIONS
    ),
    *(
        _product("frequent", "attending_frequency", "frequent tokens", _frequency, _BY_NAME[name])
        for name in _BY_FREQUENCY
    ),
    *(_product("end", "attending_end", "last pieces of words", _ends_word, _BY_NAME[name]) for name in _BY_FORM),
    *(_product("long", "attending_length", "long tokens", _length, _BY_NAME[name]) for name in _BY_FORM),
)
