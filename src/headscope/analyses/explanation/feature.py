"""A feature of a pair of query and key, and the groups by which features are added to an explanation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.row_context import RowContext

Need = Literal["same_axis", "tags", "trees", "mentions"]
"""What a feature may need: queries and keys that are the same tokens, which cross attention has not, or annotation."""
FAMILIES = (
    *("position", "class of key", "copies", "word structure", "content"),
    *("what attends", "treebank", "coreference"),
)
"""The families of groups, each with a color of its own."""
TOKENS = "tokens"
"""The group of particular tokens: a bias for each frequent token, which needs no feature."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Features that are added to an explanation together.

    Attributes:
        name: in tables.
        family: one of `FAMILIES`.
        label: in headings and legends.
        phrase: in sentences, `attends to {phrase}`.
    """

    name: str
    family: str
    label: str
    phrase: str


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A number for every pair of query and key.

    Attributes:
        name: in tables.
        group: name of its group.
        label: in headings.
        sentence: what the keys are for which it is 1, or large: `the previous token`.
        compute: returns it for some rows of one input, `[row, key]` float64, finite; what it is for keys that a row
            cannot see is ignored.
        needs: what it cannot be computed without.
    """

    name: str
    group: str
    label: str
    sentence: str
    compute: Callable[[RowContext], NDArray[np.float64]]
    needs: frozenset[Need] = frozenset()


def available(features: Sequence[Feature], row_context: RowContext) -> list[Feature]:
    """Return the features that can be computed for an input, in order."""
    return [feature for feature in features if feature.needs <= row_context.has]
