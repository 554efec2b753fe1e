"""What heads are seen doing, a number for each beside what chance gives: for cards, the grid and the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import json_numbers
from headscope.statistics.boolean_columns import is_true


@dataclass(frozen=True, kw_only=True)
class Showable:
    """Something that a head can show.

    Attributes:
        name: unique among all that the grid can be colored by.
        label: as people call it.
        says: what it is, in a few words.
        topic: what stands above it and its like.
        words: what it is asked for as; none where nobody asks for it by itself.
        role: the color of heads that show it, by its name in the palette.
        unit: of its number, in words; empty for a share of attention.
    """

    name: str
    label: str
    says: str
    topic: str
    words: tuple[str, ...] = ()
    role: str = "mixed"
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Strongest:
    """The head of a kind that was chosen for it.

    Attributes:
        layer, head: which, 1-based.
        chance: what the same choice is worth with random weights; NaN where that was not asked.
        tested: whether there were documents enough to say of a head that it shows it.
    """

    layer: int
    head: int
    chance: float
    tested: bool


@dataclass(frozen=True, kw_only=True)
class Showing:
    """What was measured of it in a run.

    Attributes:
        what: its names.
        heads: a row a head: `kind layer head value ci_low ci_high uniform shows` (True, False, or missing: not tested),
            and `written`: the same of what the head writes, missing where that is not known.
        strongest: by kind; none where none could be chosen.
    """

    what: Showable
    heads: pd.DataFrame
    strongest: Mapping[str, Strongest]


def shown_by_head(showings: Sequence[Showing], kind: Kind) -> dict[int, list[dict[str, Any]]]:
    """Return what each head of a kind shows of what can be asked for, by its place, with its value and interval.

    And with its value of what it writes, where that is known.
    """
    out: dict[int, list[dict[str, Any]]] = {}
    for showing in showings:
        rows = showing.heads[(showing.heads["kind"] == kind.name) & is_true(showing.heads["shows"])]
        for row in rows.to_dict("records") if showing.what.words else ():
            index = kind.head_index(row["layer"], row["head"])
            value, low, high, written = json_numbers(
                np.array([row[name] for name in ("value", "ci_low", "ci_high", "written")], dtype=np.float64)
            )
            fields = {
                "id": showing.what.name,
                "name": showing.what.label,
                "says": showing.what.says,
                "role": showing.what.role,
            }
            known = {} if written is None else {"written": written}
            out.setdefault(index, []).append(fields | {"value": value, "low": low, "high": high} | known)
    return out
