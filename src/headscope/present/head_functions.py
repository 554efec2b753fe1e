"""Functions of heads (relations and behaviors, with every head's numbers), and the targets of their attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from headscope.present.cells import Cell

DIRECTIONS = ("dependent->head", "head->dependent")
"""The two directions of attention, in the order in which the atlas's script numbers them."""


@dataclass(frozen=True, kw_only=True)
class HeadFunction:
    """A function that a head can have.

    Attributes:
        name: name of a relation in its tables; name of a behavior's column in `study.heads`.
        label: label in figures and pages.
        description: description in a few words; empty if there is none.
        search_words: words that find its heads; empty if it cannot be searched for.
        role: the color of heads that have it, by its name in the palette.
        is_relation: True for a relation that heads find, False for a behavior that they show.
    """

    name: str
    label: str
    description: str
    search_words: tuple[str, ...] = ()
    role: str = "mixed"
    is_relation: bool = False


@dataclass(frozen=True, kw_only=True)
class BestHead:
    """The head that was selected for a function.

    Attributes:
        layer, head: position of the head, 1-based.
        value: its value on documents that did not select it; None if it was not measured.
        chance: value of the same selection with random weights; NaN if unknown.
        tested: True if there were enough documents for a test.
        passes: True if the test is passed: the selection beats the baseline, or the head shows the behavior.
    """

    layer: int
    head: int
    value: Cell | None
    chance: float = float("nan")
    tested: bool
    passes: bool


@dataclass(frozen=True, kw_only=True)
class FunctionScores:
    """The scores of a run's heads for a function.

    Attributes:
        function: the function.
        heads: a row for each head: `kind layer head value ci_low ci_high`; for a behavior also `uniform shows` (True,
            False, or missing: not tested) and `norm`, the norm-weighted value, missing if unknown; with `direction`
            (of `DIRECTIONS`) if a head has a row for each. None if the rows were not stored.
        best: the selected head by kind of attention; a relation has one for all kinds.
        n_cases: number of cases of a relation.
        baseline: accuracy without attention; NaN if there is no such baseline.
        overall: True if it summarizes other functions of the list, and is not listed separately.
    """

    function: HeadFunction
    heads: pd.DataFrame | None
    best: Mapping[str, BestHead]
    n_cases: int = 0
    baseline: float = float("nan")
    overall: bool = False


RESTS, BROAD, UNEXPLAINED = "cls", "broad", "mixed"
"""Colors of heads that attend to the sink, that attend broadly, and that are not explained."""


@dataclass(frozen=True, kw_only=True)
class HeadLook:
    """The attention target of a head.

    Attributes:
        color: its category, by the name of its color in the palette.
        explained: the predicted share of its non-sink attention; NaN if that was not measured.
        sink: the share of its attention on the sink.
    """

    color: str
    explained: float
    sink: float


@dataclass(frozen=True, kw_only=True)
class Look:
    """A category of attention targets.

    Attributes:
        color: its name in the palette.
        label: label on pages, `nearby tokens`; `{cls}` is replaced by the name of the first token.
    """

    color: str
    label: str


_ROWS = (
    Look(color="previous", label="previous token"),
    Look(color="next", label="next token"),
    Look(color="position", label="nearby tokens"),
    Look(color="copies", label="copies of the token"),
    Look(color="after_copy", label="after an earlier copy"),
    Look(color="period_comma", label="separators and punctuation"),
    Look(color="word", label="pieces and words"),
    Look(color="content", label="kinds of words"),
    Look(color="added", label="features of your own"),
    Look(color=RESTS, label="rests on {cls}"),
    Look(color=BROAD, label="broad"),
    Look(color=UNEXPLAINED, label="unexplained"),
)
LOOKS: Mapping[str, Look] = MappingProxyType({look.color: look for look in _ROWS})
"""The categories by color, in the order in which they are listed."""
