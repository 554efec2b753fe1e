"""A feature of a pair of query and key, and the groups by which features are added to an explanation."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.row_context import RowContext

Need = Literal["same_axis", "tags", "trees", "mentions"]
"""What a feature may need: queries and keys that are the same tokens, which cross attention has not, or annotation."""
ATTENDING = "attending_token"
"""The group, and its family, of products with facts on the attending token."""
FAMILIES = (
    *("position", "class of key", "copies", "word structure", "content", "words"),
    *(ATTENDING, "treebank", "coreference", "added"),
)
"""The families of groups; features that a user adds are `added`."""
TOKENS, SINK_LOGIT = "tokens", "sink_logit"
"""Groups without features: a column for each frequent token, and one for a learned sink."""
SAME_AXIS: frozenset[Need] = frozenset({"same_axis"})
Floats = NDArray[np.float64]
Values = Callable[[RowContext], NDArray[Any]]
"""From some rows of one input to numbers or truths of its keys, `[key]`, or of each pair, `[row, key]`."""


@dataclass(frozen=True)
class Group:
    """Features that are added to an explanation together.

    Attributes:
        name: in tables.
        family: one of `FAMILIES`.
        phrase: in sentences, `attends to {phrase}`; `{cls}` and `{sep}` stand for the names of special tokens.
        named_features: how many of its strongest features a sentence names in place of the phrase, if they account for
            it; of one that is named alone most of the pull.
        of_others: whether its columns are products of others; it is tried after all other groups.
    """

    name: str
    family: str
    phrase: str
    _: KW_ONLY
    named_features: int = 0
    of_others: bool = False


@dataclass(frozen=True)
class Feature:
    """A number for every pair of query and key.

    Attributes:
        name: in tables.
        group: name of its group.
        sentence: what the keys are for which it is 1, or large: `the previous token`.
        values: returns it for some rows of one input, finite; what it is for keys that a row cannot see is ignored.
        opposite: what the keys are where it is small, for a feature that is no yes or no: `rare tokens`.
        needs: what it cannot be computed without.
    """

    name: str
    group: str
    sentence: str
    values: Values
    _: KW_ONLY
    opposite: str = ""
    needs: frozenset[Need] = frozenset()

    def cells(self, rows: RowContext, row: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the feature in some cells of one input, `[cell]`.

        Args:
            rows: rows of the input.
            row: index of the row of each cell, `[cell]`.
            key: position of the key of each cell, `[cell]`.
        """
        values = np.asarray(self.values(rows))
        return (values[key] if values.ndim == 1 else values[row, key]).astype(np.float32)
