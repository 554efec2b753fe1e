"""Head functions and search terms for the atlas's script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.present.head_functions import DIRECTIONS, FunctionScores, HeadFunction
from headscope.present.kinds import Kind
from headscope.present.numbers import json_numbers
from headscope.present.words import Words
from headscope.statistics.roles import ROLES, SHOWN
from headscope.statistics.statistic_catalog import STATISTICS


def relations_block(functions: Sequence[FunctionScores], kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Return the measurements of each relation, except relations without stored head accuracies.

    Each has `name label says role n`, `baseline` (accuracy without attention), `best`: {kind, index of the head, its
    accuracy, tested: True if there were enough documents for the test, beats: True if choosing it significantly beats
    the baseline}; and `heads`: for each kind `value`, `low`, `high` and `way` in head order, the better direction of
    each head.
    """
    return [
        {
            "name": scores.function.name,
            "label": scores.function.label,
            "overall": scores.overall,
            "baseline": _number(scores.baseline),
            "role": scores.function.role,
            "says": scores.function.description,
            "n": scores.n_cases,
            "best": _best_of_relation(scores, kinds),
            "heads": {kind.name: _relation_columns(scores.heads, kind) for kind in kinds},
        }
        for scores in functions
        if scores.function.is_relation and scores.heads is not None
    ]


def _best_of_relation(scores: FunctionScores, kinds: Sequence[Kind]) -> dict[str, Any] | None:
    for kind in kinds:
        if best := scores.best.get(kind.name):
            return {
                "kind": kind.name,
                "index": kind.head_index(best.layer, best.head),
                "accuracy": None if best.value is None else _number(best.value.value),
                "beats": best.passes,
                "tested": best.tested,
            }
    return None


def _relation_columns(heads: pd.DataFrame, kind: Kind) -> dict[str, Any] | None:
    """Return a relation's rows by head, for the more accurate of two directions, and the first of equal ones."""
    rows = heads[heads["kind"] == kind.name]
    if rows.empty:
        return None
    better = rows.sort_values("value", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    columns = _columns(better, kind, {"value": "value", "low": "ci_low", "high": "ci_high"}, always="value")
    if "direction" in better:
        ways = np.full(kind.size, -1)
        ways[kind.head_indices(better)] = [DIRECTIONS.index(way) for way in better["direction"]]
        columns["way"] = ways.tolist()
    return columns


def behaviors_block(
    functions: Sequence[FunctionScores], kinds: Sequence[Kind], measures: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the data that accompanies each head's value of a behavior; the values are in the report's data.

    Each has `name label says topic role unit searchable` (True if a text search finds it), and `heads`: for each kind
    in which it can occur `low` and `high` in head order, omitted if there are no intervals, `uniform` (one number if
    all heads share it), `written` (the norm-weighted value, if any head has one), `shows` (1, 0, null: not tested), and
    `strongest`: {index, chance: the same choice with random weights, tested}, or null.

    Args:
        functions: functions that were looked for in heads.
        kinds: kinds of attention.
        measures: measures of the report's data, which have the values, their topic and their unit.
    """
    listed = {measure["name"]: measure for measure in measures}
    return [
        {
            "name": scores.function.name,
            "label": scores.function.label,
            "says": scores.function.description,
            "topic": measure["topic"],
            "role": scores.function.role,
            "unit": measure["unit"],
            "searchable": bool(scores.function.search_words),
            "heads": {
                kind.name: _behavior_columns(scores, scores.heads, kind)
                for kind in kinds
                if (scores.heads["kind"] == kind.name).any()
            },
        }
        for scores in functions
        if not scores.function.is_relation
        and scores.heads is not None
        and (measure := listed.get(scores.function.name)) is not None
    ]


def _behavior_columns(scores: FunctionScores, heads: pd.DataFrame, kind: Kind) -> dict[str, Any]:
    rows = heads[heads["kind"] == kind.name]
    names = {"low": "ci_low", "high": "ci_high", "written": "norm", "uniform": "uniform"}
    columns = _columns(rows, kind, names, always="uniform")
    if len(set(columns["uniform"])) == 1:
        columns["uniform"] = columns["uniform"][0]
    shows: list[int | None] = [None] * kind.size
    for index, verdict in zip(kind.head_indices(rows).tolist(), rows["shows"]):
        shows[index] = None if pd.isna(verdict) else int(verdict)
    best = scores.best.get(kind.name)
    return columns | {
        "shows": shows,
        "strongest": None
        if best is None
        else {
            "index": kind.head_index(best.layer, best.head),
            "chance": _number(float(np.round(best.chance, 4))),
            "tested": best.tested,
        },
    }


def _columns(rows: pd.DataFrame, kind: Kind, names: Mapping[str, str], *, always: str) -> dict[str, Any]:
    """Return columns in head order, to four digits, without columns that have no number, except `always`."""
    columns = {name: kind.in_head_order(rows, column) for name, column in names.items()}
    return {
        name: json_numbers(values.round(4))
        for name, values in columns.items()
        if name == always or np.isfinite(values).any()
    }


def _number(value: float) -> float | int | None:
    return json_numbers(np.array([value]))[0]


def vocabulary(
    words: Words,
    measured: Sequence[HeadFunction],
    known: Sequence[tuple[HeadFunction, str]],
    *,
    explained: bool = False,
) -> list[dict[str, Any]]:
    """Return the search terms: `what`, `name`, `label`, `says`, and its `words`.

    `what` is role, relation, showing, statistic, or unmeasured: a term that this run did not measure, with the reason
    in `missing`.

    Args:
        words: the model's names of special tokens.
        measured: functions that the run looked for in heads.
        known: functions that the search understands even if the run did not measure them, each with the key of the
            missing part (of `missing`).
    """
    roles = [
        _entry("role", name, words.roles[name], "", (*ROLES[name].search_words, words.roles[name])) for name in SHOWN
    ]
    statistics = [
        _entry("statistic", name, words.statistics[name], "", (*entry.search_words, words.statistics[name]))
        for name, entry in STATISTICS.items()
        if entry.search_words
    ]
    names = {function.name for function in measured}
    others = [
        _named(function) | {"what": "unmeasured", "missing": missing}
        for function, missing in known
        if function.name not in names and function.search_words
    ]
    named = [_named(function) for function in measured if function.search_words]
    return [*roles, *named, *statistics, *others]


def _named(function: HeadFunction) -> dict[str, Any]:
    what = "relation" if function.is_relation else "showing"
    return _entry(what, function.name, function.label, function.description, function.search_words)


def _entry(what: str, name: str, label: str, says: str, words: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(word.lower() for word in words if word))
    return {"what": what, "name": name, "label": label, "says": says, "words": unique}
