"""What stands right before the key: punctuation, a frequent token, a piece of a word."""

import numpy as np

from headscope.analyses.explanation.feature import Feature, Floats, Group, Values
from headscope.analyses.explanation.features.plain_features import PLAIN_FEATURES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (Group("after", "content", "tokens by what stands right before them", by_feature=True, of_others=True),)
_BEFORE = (
    *("first", "period_comma", "other_punctuation", "newline", "continuation", "ends_word"),
    *("capital", "digit", "length", "log_frequency"),
)


def _after(feature: Feature) -> Values:
    """Return a function to a feature of the key before each key; the first key has none, and 0."""

    def values(rows: RowContext) -> Floats:
        before = feature.compute(rows)
        after = np.zeros_like(before)
        after[:, 1:] = before[:, :-1]
        return after

    return values


FEATURES = tuple(
    Feature(
        f"after_{before.name}",
        "after",
        f"tokens right after {before.sentence}",
        _after(before),
        opposite=before.opposite and f"tokens right after {before.opposite}",
    )
    for before in (PLAIN_FEATURES[name] for name in _BEFORE)
)
