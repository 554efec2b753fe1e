"""The part of speech of the key by that of the row: determiners from nouns, nouns from adjectives."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.feature import Feature, Floats, Group, Need
from headscope.analyses.explanation.features.tree import TAG_NAMES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group(
        name="tag_pairs",
        family="treebank",
        label="both parts of speech",
        phrase="some parts of speech from some others",
        by_feature=True,
        of_others=True,
    ),
)
PAIRED = ("ADJ", "ADP", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB")
"""Parts of speech of rows and keys; of others the part of speech of the key counts alone."""
_NEEDS: frozenset[Need] = frozenset({"same_axis", "tags"})


def _pair(of_row: str, of_key: str) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        tags = np.array(rows.annotation.tags)
        from_rows = rows.of_words(tags == of_row)
        return np.asarray(rows.of_rows(from_rows) * rows.of_keys(rows.of_words(tags == of_key)))

    return compute


FEATURES = tuple(
    Feature(
        name=f"tag_{of_key}_from_{of_row}",
        group="tag_pairs",
        label=f"{TAG_NAMES[of_key]} from {TAG_NAMES[of_row]}",
        sentence=f"{TAG_NAMES[of_key]} from {TAG_NAMES[of_row]}",
        compute=_pair(of_row, of_key),
        needs=_NEEDS,
    )
    for of_row in PAIRED
    for of_key in PAIRED
)
