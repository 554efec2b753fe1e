"""What heads do: relations that they find and behaviors that they show, with the numbers of every head of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from headscope.report_kit.tables.cells import Cell

DIRECTIONS = ("dependent->head", "head->dependent")
"""The two directions of attention, in the order in which the atlas's script numbers them."""


@dataclass(frozen=True, kw_only=True)
class HeadFunction:
    """Something that a head can do, as people know it.

    Attributes:
        name: of a relation that in its tables; of a behavior that of its column in `study.heads`.
        label: as it is drawn.
        description: what it is, in a few words; empty where nobody has described it.
        search_words: by which heads are searched for it; none where it cannot be searched for by itself.
        role: the color of heads that do it, by its name in the palette.
        is_relation: whether it is a relation that heads find; otherwise it is a behavior that they show.
    """

    name: str
    label: str
    description: str
    search_words: tuple[str, ...] = ()
    role: str = "mixed"
    is_relation: bool = False


@dataclass(frozen=True, kw_only=True)
class BestHead:
    """The head that was chosen for a function.

    Attributes:
        layer, head: which, 1-based.
        value: its value on documents that did not choose it; None where it was not measured.
        chance: what the same choice is worth with random weights; NaN where that is not known.
        tested: whether there were enough documents for a test.
        passes: whether the test is passed: the choice beats the baseline, or the head shows the behavior.
    """

    layer: int
    head: int
    value: Cell | None
    chance: float = float("nan")
    tested: bool
    passes: bool


@dataclass(frozen=True, kw_only=True)
class FunctionScores:
    """How well the heads of a run fulfill a function.

    Attributes:
        function: what it is.
        heads: a row for each head: `kind layer head value ci_low ci_high`; of a behavior also `uniform shows` (True,
            False, or missing: not tested) and `norm`, the norm-weighted value, missing where it is not known; with
            `direction` (of `DIRECTIONS`) where a head has a row for each. None where they were not kept.
        best: the chosen head by kind of attention; a relation has one of all kinds.
        n_cases: number of cases of a relation.
        baseline: accuracy of what needs no attention; NaN where there is none.
        overall: whether it takes others of the list together, and is not listed by itself.
    """

    function: HeadFunction
    heads: pd.DataFrame | None
    best: Mapping[str, BestHead]
    n_cases: int = 0
    baseline: float = float("nan")
    overall: bool = False
