"""A feature of a pair of query and key, and the groups by which features are added to an explanation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, kw_only=True)
class Group:
    """Features that are added to an explanation together.

    Attributes:
        name: in tables.
        family: one of `FAMILIES`.
        label: in headings and legends.
        phrase: in sentences, `attends to {phrase}`; `{cls}` and `{sep}` stand for the names of special tokens.
        by_feature: whether sentences name its strongest features where one or two of them stand for it.
        of_others: whether its features are made of others, for which they could stand: it is tried where no other
            group gains.
    """

    name: str
    family: str
    label: str
    phrase: str
    by_feature: bool = False
    of_others: bool = False


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A number for every pair of query and key.

    Attributes:
        name: in tables.
        group: name of its group.
        label: in headings.
        sentence: what the keys are for which it is 1, or large: `the previous token`.
        opposite: what they are where it is small, for a feature that is no yes or no: `rare tokens`.
        compute: returns it for some rows of one input, `[row, key]` float64, finite; what it is for keys that a row
            cannot see is ignored.
        needs: what it cannot be computed without.
    """

    name: str
    group: str
    label: str
    sentence: str
    compute: Callable[[RowContext], Floats]
    opposite: str = ""
    needs: frozenset[Need] = frozenset()
