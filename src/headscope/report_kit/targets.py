"""What a head can find: a relation between words, an earlier mention; and how well every head finds it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from headscope.report_kit.tables.cells import Cell

WAYS = ("dependent->head", "head->dependent")
"""The two directions of attention, in the order in which the atlas's script numbers them."""


@dataclass(frozen=True, kw_only=True)
class Findable:
    """Something a head can find, as people know it.

    Attributes:
        name: in tables, and among what heads find.
        label: as it is drawn.
        says: what it is, in a few words; empty where nobody has said.
        words: what people call it who ask for it.
    """

    name: str
    label: str
    says: str
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The head that was chosen on documents which did not score it.

    Attributes:
        kind, layer, head: which, 1-based.
        accuracy: its own, on all documents; None where it was not measured.
        tested: whether there were documents enough to ask whether choosing it beats the baselines.
        beats: whether that is shown.
    """

    kind: str
    layer: int
    head: int
    accuracy: Cell | None
    tested: bool
    beats: bool


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something that was looked for in a run.

    Attributes:
        what: its names.
        role: the color of heads that find it, by its name in the palette.
        n: cases.
        baseline: accuracy of what needs no attention; NaN where there is none.
        best: the head chosen for it, None where none could be.
        heads: every head's accuracy: `kind layer head accuracy ci_low ci_high`, and `direction` (of `WAYS`) where a
            head has a row for each; None where it was not kept.
        overall: whether it takes others of the list together, and is none of its own.
    """

    what: Findable
    role: str
    n: int
    baseline: float
    best: Selected | None
    heads: pd.DataFrame | None
    overall: bool = False
