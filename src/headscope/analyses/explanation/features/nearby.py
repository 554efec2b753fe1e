"""Kinds of tokens near the row: how a key is written, or how frequent it is, counts more at some distances."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group, Values
from headscope.analyses.explanation.features.plain_features import PLAIN_FEATURES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (Group("nearby", "position", "some kinds of tokens nearby", by_feature=True, of_others=True),)
_KINDS = (
    *("period_comma", "other_punctuation", "continuation", "word_start", "ends_word"),
    *("length", "capital", "digit", "log_frequency"),
)
_NEAR = 8
"""Tokens on either side that are near."""


def _log_distance(rows: RowContext) -> Floats:
    return np.log1p(np.abs(rows.offset))


def _near(rows: RowContext) -> NDArray[np.bool_]:
    return np.asarray((rows.offset != 0) & (np.abs(rows.offset) <= _NEAR))


def _product(name: str, feature: Feature, sentence: str, opposite: str, of_distance: Values) -> Feature:
    return Feature(
        f"{name}_{feature.name}",
        "nearby",
        sentence,
        lambda rows: of_distance(rows) * feature.compute(rows),
        opposite=opposite,
        needs=SAME_AXIS | feature.needs,
    )


def _products(feature: Feature) -> tuple[Feature, Feature]:
    near, distant = f"{feature.sentence} nearby", f"distant {feature.sentence}"
    return (_product("near", feature, near, distant, _near), _product("distant", feature, distant, near, _log_distance))


FEATURES = tuple(product for kind in _KINDS for product in _products(PLAIN_FEATURES[kind]))
