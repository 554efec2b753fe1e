"""What stands right before the key: punctuation, a frequent token, a piece of a word."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.feature import Feature, Floats, Group
from headscope.analyses.explanation.features.token_features import TOKEN_FEATURES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group(
        name="after",
        family="content",
        label="token before the key",
        phrase="tokens by what stands right before them",
        by_feature=True,
        of_others=True,
    ),
)
_BEFORE = {
    "first": "the first token",
    "period_comma": "periods and commas",
    "other_punctuation": "other punctuation",
    "newline": "line breaks",
    "continuation": "later pieces of words",
    "ends_word": "last pieces of words",
    "capital": "capitalized tokens",
    "digit": "digits",
    "length": "long tokens",
    "log_frequency": "frequent tokens",
}
_OPPOSITES = {"length": "short tokens", "log_frequency": "rare tokens", "continuation": "whole words"}


def _after(name: str) -> Callable[[RowContext], Floats]:
    """Return a function to a feature of the key before each key; the first key has none, and 0."""
    compute_before = TOKEN_FEATURES[name].compute

    def compute(rows: RowContext) -> Floats:
        before = compute_before(rows)
        after = np.zeros_like(before)
        after[:, 1:] = before[:, :-1]
        return np.asarray(after, dtype=np.float64)

    return compute


FEATURES = tuple(
    Feature(
        name=f"after_{name}",
        group="after",
        label=f"right after {before}",
        sentence=f"tokens right after {before}",
        opposite=f"tokens right after {_OPPOSITES[name]}" if name in _OPPOSITES else "",
        compute=_after(name),
    )
    for name, before in _BEFORE.items()
)
