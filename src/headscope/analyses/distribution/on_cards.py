"""Distributions on the cards of the atlas: the deciles of each measure, and examples of rows of every decile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.distribution.deciles import DECILES
from headscope.analyses.distribution.row_measures import MEASURES
from headscope.report_kit.card_words import CardWords
from headscope.report_kit.kinds import Kind
from headscope.study.study import Study

DIGITS = 3
MANY_HEADS = 512
"""With more heads of a kind, a card has one row per decile, so that the page opens at once."""


def distribution_cards(run: Study, kind: Kind) -> dict[str, Any]:
    """Return `distribution` for the cards of the heads of a kind; None where distributions were not measured.

    It has `measures`: `name`, `label`, `unit`, and the `deciles` of each head in head order, None for a head without;
    `words`: every token as displayed, and in full where that differs; `strengths`: for each head index, the measure
    that orders its rows; and `rows`: for each head index the rows of each decile, weakest first, each a list of its
    value and the row in the format of `CardWords.attending`.
    """
    table, examples = run.tables.get("distribution"), run.tables.get("distribution_examples")
    if table is None or not (table["kind"] == kind.name).any():
        return {"distribution": None}
    deciles = table[table["kind"] == kind.name]
    rows: dict[str, Any] = {"words": [], "strengths": {}, "rows": {}}
    if examples is not None:
        rows = _rows(examples[examples["kind"] == kind.name], kind)
    return {
        "distribution": {
            "measures": [_measure(deciles[deciles["measure"] == name], name, kind) for name in MEASURES],
            **rows,
        }
    }


def _measure(table: pd.DataFrame, name: str, kind: Kind) -> dict[str, Any]:
    values = np.full((kind.size, len(DECILES)), np.nan)
    head_index = kind.head_indices(table)
    values[head_index, table["decile"].to_numpy(int) - 1] = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
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
    for head_index, row in zip(kind.head_indices(examples).tolist(), examples.to_dict("records"), strict=True):
        strengths[head_index] = row["measure"]
        rows_of_head = rows.setdefault(head_index, [[] for _ in range(len(DECILES) + 1)])
        rows_of_head[int(row["decile"]) - 1].append([_short(row["value"]), *words.attending(row)])
    return {"words": words.drawn(), "strengths": strengths, "rows": rows}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
