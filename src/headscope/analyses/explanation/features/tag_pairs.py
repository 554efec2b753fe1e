"""Features of the key's part of speech given that of the row: determiners from nouns, nouns from adjectives."""

import numpy as np

from headscope.analyses.explanation.feature import Feature, Floats, Group, Need, Values
from headscope.analyses.explanation.features.tree import TAG_NAMES
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (Group("tag_pairs", "treebank", "some parts of speech from some others", named_features=2, of_others=True),)
PAIRED = ("ADJ", "ADP", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB")
"""Parts of speech of rows and keys that are paired; for others only the part of speech of the key counts."""
_NEEDS: frozenset[Need] = frozenset({"same_axis", "tags"})


def _pair(of_row: str, of_key: str) -> Values:
    def values(rows: RowContext) -> Floats:
        tags = np.array(rows.annotation.tags)
        return np.asarray(rows.of_rows(rows.of_words(tags == of_row)) * rows.of_words(tags == of_key))

    return values


FEATURES = tuple(
    Feature(
        f"tag_{of_key}_from_{of_row}",
        "tag_pairs",
        f"{TAG_NAMES[of_key]} from {TAG_NAMES[of_row]}",
        _pair(of_row, of_key),
        needs=_NEEDS,
    )
    for of_row in PAIRED
    for of_key in PAIRED
)
