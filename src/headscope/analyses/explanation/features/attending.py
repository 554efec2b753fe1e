"""What attends: features of the key that count for some classes of query, or more for frequent ones."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import ATTENDING, SAME_AXIS, Feature, Floats, Group, Values
from headscope.analyses.explanation.features import word_structure
from headscope.analyses.explanation.features.plain_features import PLAIN_FEATURES
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

GROUPS = (
    Group("attending_place", ATTENDING, "tokens by what attends", of_others=True),
    Group("attending_frequency", ATTENDING, "tokens by how frequent what attends is", of_others=True),
    Group("attending_end", ATTENDING, "tokens by whether what attends ends a word", of_others=True),
    Group("attending_length", ATTENDING, "tokens by how long what attends is", of_others=True),
)
_LOCATIONS = (
    *("previous", "next", "current", "before_2", "after_2", "log_distance_back", "log_distance_forward", "earlier"),
    *("same_sentence", "log_place", "log_frequency", "last_mark", "next_mark"),
)
_BY_FREQUENCY = ("cls", "sep", "period_comma", "continuation", "earlier_copy", *_LOCATIONS)
_BY_FORM = (
    *("first", "period_comma", "other_punctuation", "digit", "capital", "word_start", "ends_word", "length"),
    *("log_frequency", "log_frequency_squared", "previous", "log_distance_back", "log_place", "earlier_copy"),
)


def _of_class(*classes: KeyClass) -> Values:
    return lambda rows: rows.queries.are(*classes)


def _goes_on(rows: RowContext) -> NDArray[np.bool_]:
    return np.asarray((rows.queries.in_word > 0) & (rows.queries.classes == KeyClass.OTHER))


def _frequency(rows: RowContext) -> Floats:
    of_ids = rows.vocabulary.of(rows.vocabulary.log_frequency, rows.queries.ids)
    return of_ids - rows.vocabulary.mean_log_frequency


def _ends_word(rows: RowContext) -> NDArray[np.bool_]:
    return rows.queries.ends_word


def _length(rows: RowContext) -> Floats:
    return word_structure.lengths(rows, rows.queries)


_ATTENDING: dict[str, tuple[str, Values]] = {
    "special": ("special tokens", _of_class(KeyClass.CLS, KeyClass.SEP)),
    "mark": ("punctuation", _of_class(KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)),
    "continuation": ("later pieces of words", _goes_on),
}
"""Classes of query by name: what they are, and which queries are of one, `[query]`. Other rows begin words,
and have no products: their attention is what the other groups say."""


def _product(name: str, group: str, attending: str, of_queries: Values, location: str) -> Feature:
    feature = PLAIN_FEATURES[location]
    return Feature(
        f"{name}_{feature.name}",
        group,
        f"{feature.sentence} from {attending}",
        lambda rows: rows.of_rows(of_queries(rows)) * feature.compute(rows),
        needs=SAME_AXIS | feature.needs,
    )


FEATURES = (
    *(
        _product(name, "attending_place", attending, of_queries, location)
        for name, (attending, of_queries) in _ATTENDING.items()
        for location in _LOCATIONS
    ),
    *(_product("frequent", "attending_frequency", "frequent tokens", _frequency, name) for name in _BY_FREQUENCY),
    *(_product("end", "attending_end", "last pieces of words", _ends_word, name) for name in _BY_FORM),
    *(_product("long", "attending_length", "long tokens", _length, name) for name in _BY_FORM),
)
