"""How much every head shows of each thing that heads were seen doing: columns over the heads of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import json_numbers
from headscope.report_kit.showings import Showing


def showings_block(showings: Sequence[Showing], kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Return what stands beside each head's value, which the report's data has.

    Each has `name label says topic role unit asked` (whether it can be asked for), and `heads`: for each kind in which
    it can occur `low` and `high` in head order, left out where nothing has an interval, `uniform` (one number where all
    share it), `written` (the value by what the head writes, where that is known of any), `shows` (1, 0, null: not
    tested), and `strongest`: {index, chance: the same choice with random weights, tested}, or null.
    """
    return [
        {
            "name": showing.what.name,
            "label": showing.what.label,
            "says": showing.what.says,
            "topic": showing.what.topic,
            "role": showing.what.role,
            "unit": showing.what.unit,
            "asked": bool(showing.what.words),
            "heads": {
                kind.name: _columns(showing, kind)
                for kind in kinds
                if (showing.heads["kind"] == kind.name).any()
            },
        }
        for showing in showings
    ]


def _columns(showing: Showing, kind: Kind) -> dict[str, Any]:
    rows = showing.heads[showing.heads["kind"] == kind.name]
    index = kind.head_indices(rows)
    out: dict[str, Any] = {}
    for name, column in (
        ("low", "ci_low"),
        ("high", "ci_high"),
        ("written", "written"),
        ("uniform", "uniform"),
    ):
        table = np.full(kind.size, np.nan)
        table[index] = rows[column].to_numpy(dtype=np.float64, na_value=np.nan)
        if name == "uniform" or np.isfinite(table).any():
            values = json_numbers(table.round(4))
            out[name] = values[0] if name == "uniform" and len(set(values)) == 1 else values
    shows: list[int | None] = [None] * kind.size
    for at, said in zip(index.tolist(), rows["shows"]):
        shows[at] = None if pd.isna(said) else int(said)
    strongest = showing.strongest.get(kind.name)
    return out | {
        "shows": shows,
        "strongest": None
        if strongest is None
        else {
            "index": kind.head_index(strongest.layer, strongest.head),
            "chance": json_numbers(np.array([strongest.chance]).round(4))[0],
            "tested": strongest.tested,
        },
    }
