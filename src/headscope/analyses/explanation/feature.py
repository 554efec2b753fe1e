"""A feature of a pair of query and key, and the groups by which features are added to an explanation."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.row_context import RowContext

Need = Literal["same_axis", "tags", "trees", "mentions"]
"""What a feature may need: queries and keys that are the same tokens, which cross attention has not, or annotation."""
ATTENDING = "what attends"
"""The family of groups that change what the others say by the class of the query."""
FAMILIES = (
    *("position", "class of key", "copies", "word structure", "content"),
    *(ATTENDING, "treebank", "coreference", "added"),
)
"""The families of groups, each with a color of its own; features that a user adds are `added`."""
TOKENS, SINK_LOGIT, WHAT_ATTENDS = "tokens", "sink_logit", "what_attends"
"""Groups that have no features but biases: of each frequent token, of a learned sink, of pairs of classes."""
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
        by_feature: whether sentences name its strongest features where one or two of them stand for it.
        of_others: whether its features are made of others, for which they could stand: it is tried where no other
            group gains.
    """

    name: str
    family: str
    phrase: str
    _: KW_ONLY
    by_feature: bool = False
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

    def compute(self, rows: RowContext) -> Floats:
        """Return it for some rows of one input, `[row, key]`."""
        values = np.asarray(self.values(rows), dtype=np.float64)
        return rows.of_keys(values) if values.ndim == 1 else values
