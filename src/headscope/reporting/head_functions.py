"""Head functions for the page's script: the relations that each head finds and the behaviors that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.report_kit.head_functions import FunctionScores
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import json_numbers
from headscope.report_kit.tables.cells import NO_NUMBER
from headscope.statistics.tables.head_table import is_true
from headscope.study.study import Study


def finds_of(run: Study, kind: Kind, functions: Sequence[FunctionScores]) -> dict[int, list[dict[str, Any]]]:
    """Return the relations that each head of a kind finds, by head index: best held out, and above the baseline."""
    if "finds" not in run.roles:
        return {}
    relations = {scores.function.name: scores for scores in functions if scores.function.is_relation}
    rows = run.roles[run.roles["kind"] == kind.name]
    return {
        kind.head_index(layer, head): [_find(relations[name]) for name in finds]
        for layer, head, finds in zip(rows["layer"], rows["head"], rows["finds"])
        if finds
    }


def _find(scores: FunctionScores) -> dict[str, Any]:
    cell = next((best.value for best in scores.best.values()), None) or NO_NUMBER
    ends = [cell.ci_low, cell.ci_high] if cell.has_interval else [float("nan")] * 2
    value, low, high = json_numbers(np.array([cell.value, *ends]))
    function = scores.function
    fields = {"name": function.label, "says": function.description, "role": function.role}
    return fields | {"value": value, "low": low, "high": high}


def shows_of(kind: Kind, functions: Sequence[FunctionScores]) -> dict[int, list[dict[str, Any]]]:
    """Return the searchable behaviors that each head of a kind shows, by head index.

    Each has its value and interval, and its norm-weighted value, if it is known.
    """
    out: dict[int, list[dict[str, Any]]] = {}
    for scores in functions:
        function, heads = scores.function, scores.heads
        if function.is_relation or heads is None or not function.search_words:
            continue
        for row in heads[(heads["kind"] == kind.name) & is_true(heads["shows"])].to_dict("records"):
            value, low, high, norm = json_numbers(
                np.array([row[name] for name in ("value", "ci_low", "ci_high", "norm")], dtype=np.float64)
            )
            fields = {"id": function.name, "name": function.label, "says": function.description, "role": function.role}
            known = {} if norm is None else {"written": norm}
            out.setdefault(kind.head_index(row["layer"], row["head"]), []).append(
                fields | {"value": value, "low": low, "high": high} | known
            )
    return out
