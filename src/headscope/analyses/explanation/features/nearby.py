"""Kinds of tokens near the row: how a key is written, or how frequent it is, counts more at some distances."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group
from headscope.analyses.explanation.features.token_features import TOKEN_FEATURES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group(
        name="nearby",
        family="position",
        label="kinds of tokens by distance",
        phrase="some kinds of tokens nearby",
        by_feature=True,
        of_others=True,
    ),
)
_KINDS = (
    *("period_comma", "other_punctuation", "continuation", "word_start", "ends_word"),
    *("length", "capital", "digit", "log_frequency"),
)
_NEAR = 8
"""Tokens on either side that are near."""


def _log_distance(rows: RowContext) -> Floats:
    return np.asarray(np.log1p(np.abs(rows.offset)), dtype=np.float64)


def _near(rows: RowContext) -> Floats:
    return np.asarray((rows.offset != 0) & (np.abs(rows.offset) <= _NEAR), dtype=np.float64)


def _product(
    name: str, kind: str, sentence: str, opposite: str, of_distance: Callable[[RowContext], Floats]
) -> Feature:
    feature = TOKEN_FEATURES[kind]

    def compute(rows: RowContext) -> Floats:
        return np.asarray(of_distance(rows) * feature.compute(rows))

    return Feature(
        name=f"{name}_{kind}",
        group="nearby",
        label=sentence,
        sentence=sentence,
        opposite=opposite,
        compute=compute,
        needs=SAME_AXIS | feature.needs,
    )


FEATURES = tuple(
    product
    for kind in _KINDS
    for written in (TOKEN_FEATURES[kind].sentence,)
    for product in (
        _product("near", kind, f"{written} nearby", f"distant {written}", _near),
        _product("distant", kind, f"distant {written}", f"{written} nearby", _log_distance),
    )
)
