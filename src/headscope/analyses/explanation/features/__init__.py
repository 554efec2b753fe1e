"""Features of a pair of query and key, and the groups in which features are added to an explanation."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.row_context import RowContext

Need = Literal["same_axis", "tags", "trees", "mentions"]
"""A requirement of a feature: queries and keys are the same tokens (not so in cross attention), or annotation."""
ATTENDING = "attending_token"
"""The name of the group, and of the family, of products with facts on the attending token."""
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
"""A function from some rows of one input to numbers or booleans for each key, `[key]`, or each pair, `[row, key]`."""


@dataclass(frozen=True)
class Group:
    """Features that are added to an explanation together.

    Attributes:
        name: name in tables.
        family: one of `FAMILIES`.
        phrase: phrase in sentences, `attends to {phrase}`; `{cls}` and `{sep}` are replaced by the names of special
            tokens.
        named_features: number of its strongest features that a sentence names in place of the phrase if they account
            for the group; a single named feature must account for most of the pull.
        of_others: True if its columns are products of other columns; such a group is tried after all other groups.
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
        name: name in tables.
        group: name of its group.
        sentence: description of the keys for which the feature is 1, or large: `the previous token`.
        values: function that computes finite values for some rows of one input; values at keys that a row cannot see
            are ignored.
        opposite: description of the keys for which the feature is small, if it is not boolean: `rare tokens`.
        needs: requirements without which the feature cannot be computed.
    """

    name: str
    group: str
    sentence: str
    values: Values
    _: KW_ONLY
    opposite: str = ""
    needs: frozenset[Need] = frozenset()

    def cells(self, rows: RowContext, row: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute the feature for some cells of one input, `[cell]`.

        Args:
            rows: rows of the input.
            row: index of the row of each cell, `[cell]`.
            key: position of the key of each cell, `[cell]`.
        """
        values = np.asarray(self.values(rows))
        return (values[key] if values.ndim == 1 else values[row, key]).astype(np.float32)


def pair_feature(
    name: str, group: str, sentence: str, values: Values, opposite: str = "", *, needs: frozenset[Need] = SAME_AXIS
) -> Feature:
    """Return a feature of two tokens of one axis."""
    return Feature(name, group, sentence, values, opposite=opposite, needs=needs)
