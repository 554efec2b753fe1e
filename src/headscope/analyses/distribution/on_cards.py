"""What the atlas shows of a head's rows: the tenths of each measure, and rows of every tenth with their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.deciles import DECILES
from headscope.analyses.distribution.scales import MEASURES
from headscope.reporting.kit.card_words import CardWords
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.measured import Measured

DIGITS = 3
MANY_HEADS = 512
"""Of more heads of a kind a card has one row a tenth, so that the page opens at once."""


def tenths(run: Measured, kind: Kind) -> dict[str, Any]:
    """Return `tenths` for the cards of the heads of a kind; None where the run counted no rows.

    It has `measures`: `name`, `label`, `unit`, and the `deciles` of each head in head order, None where it has none;
    `words`: every token as it is drawn, and in full where that differs; `strengths`: by the head's place, the measure
    that its rows go by; and `rows`: by the head's place those of each tenth, weakest first, each a list: its value, and
    what `CardWords.attending` has of it.
    """
    table, examples = run.table("distribution"), run.table("distribution_examples")
    if table is None or not (table["kind"] == kind.name).any():
        return {"tenths": None}
    own = table[table["kind"] == kind.name]
    told: dict[str, Any] = {"words": [], "strengths": {}, "rows": {}}
    if examples is not None:
        told = _rows(examples[examples["kind"] == kind.name], kind)
    return {
        "tenths": {
            "measures": [_measure(own[own["measure"] == name], name, kind) for name in MEASURES],
            **told,
        }
    }


def _measure(table: pd.DataFrame, name: str, kind: Kind) -> dict[str, Any]:
    values = np.full((kind.size, len(DECILES)), np.nan)
    place = kind.head_indices(table)
    values[place, table["decile"].to_numpy(int) - 1] = table["value"].to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    measure = MEASURES[name]
    return {
        "name": name,
        "label": measure.label,
        "unit": measure.unit if measure.unit in ("share", "nats", "tokens") else "",
        "deciles": [None if np.isnan(line).any() else [_short(value) for value in line] for line in values],
    }


def _rows(examples: pd.DataFrame, kind: Kind) -> dict[str, Any]:
    rows: dict[int, list[list[list[Any]]]] = {}
    strengths: dict[int, str] = {}
    words = CardWords()
    if kind.size > MANY_HEADS:
        examples = examples[examples["rank"] == 1]
    for place, row in zip(kind.head_indices(examples).tolist(), examples.to_dict("records"), strict=True):
        strengths[place] = row["measure"]
        own = rows.setdefault(place, [[] for _ in range(len(DECILES) + 1)])
        own[int(row["tenth"]) - 1].append([_short(row["value"]), *words.attending(row)])
    return {
        "words": words.drawn(),
        "strengths": strengths,
        "rows": rows,
    }


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
