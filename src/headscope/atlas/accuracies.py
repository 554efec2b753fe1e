"""How well every head finds each relation, and antecedents: columns over the heads of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.coreference.found_antecedents import antecedents_of
from headscope.analyses.dependency.relations import Best, relations_of
from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.relation_names import COREFERENCE, OVERALL, gloss, short
from headscope.reporting.payload import numbers

DIRECTIONS = ("dependent->head", "head->dependent")


def relations_block(inputs: ReportInputs, kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Return what was measured of each relation, in the order of the tables, coreference last.

    Each has `name label says role n`, `baseline` (the best fixed offset's accuracy; of coreference the nearest
    candidate's), `best`: {kind, index of the head, its accuracy, tested: whether there were documents enough to ask,
    beats: whether choosing it is shown to beat the baseline}; and
    `heads`: for each kind `value`, `low`, `high` and `way` in head order, the better direction of each head.
    """
    return [*_dependencies(inputs, kinds), *_antecedents(inputs, kinds)]


def _dependencies(inputs: ReportInputs, kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    if inputs.dependency is None:
        return []
    trained = inputs.dependency[
        (inputs.dependency["model"] == "trained") & inputs.dependency["direction"].isin(DIRECTIONS)
    ]
    held_out = {one.name: one for one in relations_of(inputs)}
    out = []
    for name in dict.fromkeys(trained["relation"]):
        own = trained[trained["relation"] == name]
        found = held_out.get(str(name))
        best = found.held_out if found is not None else None
        out.append(
            _told(
                str(name),
                role="syntax",
                says=gloss(str(name)),
                n=int(own["n"].max()),
                baseline=_best_offset(inputs.dependency_baselines, str(name)),
                best=_best_of(kinds, best),
                heads={kind.name: _columns(own[own["kind"] == kind.name], kind) for kind in kinds},
            )
        )
    return out


def _antecedents(inputs: ReportInputs, kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    table, told = inputs.coreference_heads, antecedents_of(inputs)
    if table is None or told is None:
        return []
    own = table[(table["model"] == "trained") & (table["mention_type"] == "all")]
    if own.empty:
        return []
    nearest = told.systems.get("nearest", {}).get("all")
    finders = {
        (str(kind), int(layer), int(head))
        for kind, layer, head, finds in inputs.roles[["kind", "layer", "head", "finds"]].itertuples(
            index=False
        )
        if COREFERENCE in list(finds)
    }
    chosen = told.held_out
    best = None
    if chosen is not None:
        place = (chosen.kind, chosen.layer, chosen.head)
        accuracy = chosen.cells["all"].value if "all" in chosen.cells else float("nan")
        best = _best(kinds, *place, accuracy, beats=place in finders, tested=chosen.q == chosen.q)
    return [
        _told(
            COREFERENCE,
            role=COREFERENCE,
            says="an earlier mention of the same entity",
            n=int(own["n"].max()),
            baseline=float("nan") if nearest is None else nearest.value,
            best=best,
            heads={kind.name: _columns(own[own["kind"] == kind.name], kind) for kind in kinds},
        )
    ]


def _told(name: str, *, baseline: float, **parts: Any) -> dict[str, Any]:
    return {
        "name": name,
        "label": short(name),
        "overall": name in OVERALL,
        "baseline": numbers(np.array([baseline]))[0],
        **parts,
    }


def _best_of(kinds: Sequence[Kind], best: Best | None) -> dict[str, Any] | None:
    if best is None:
        return None
    place = (best.kind, best.layer, best.head)
    return _best(kinds, *place, best.accuracy.value, beats=best.beats, tested=best.tested)


def _best(
    kinds: Sequence[Kind], kind: str, layer: int, head: int, accuracy: float, *, beats: bool, tested: bool
) -> dict[str, Any] | None:
    width = next((one.heads_per_layer for one in kinds if one.name == kind), None)
    if width is None:
        return None
    index = (layer - 1) * width + head - 1
    shown = numbers(np.array([accuracy]))[0]
    return {"kind": kind, "index": index, "accuracy": shown, "beats": beats, "tested": tested}


def _best_offset(baselines: pd.DataFrame | None, relation: str) -> float:
    if baselines is None:
        return float("nan")
    own = baselines[(baselines["relation"] == relation) & (baselines["baseline"] == "offset")]
    return float(own["accuracy"].max()) if len(own) else float("nan")


def _columns(rows: pd.DataFrame, kind: Kind) -> dict[str, Any] | None:
    """Lay a relation's rows out by head; of two directions the more accurate is kept, of equal ones the first."""
    if rows.empty:
        return None
    better = rows.sort_values("accuracy", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    place = (better["layer"].to_numpy(int) - 1) * kind.heads_per_layer + better["head"].to_numpy(int) - 1
    out: dict[str, Any] = {}
    for name, column in (("value", "accuracy"), ("low", "ci_low"), ("high", "ci_high")):
        table = np.full(kind.size, np.nan)
        table[place] = better[column].to_numpy(dtype=np.float64, na_value=np.nan)
        if name == "value" or np.isfinite(table).any():
            out[name] = numbers(table.round(4))
    if "direction" in better:
        ways = np.full(kind.size, -1)
        ways[place] = [DIRECTIONS.index(way) for way in better["direction"]]
        out["way"] = ways.tolist()
    return out
