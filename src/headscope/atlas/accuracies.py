"""How well every head finds each thing that was looked for: columns over the heads of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import json_numbers
from headscope.report_kit.targets import WAYS, Selected, Target


def relations_block(targets: Sequence[Target], kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Return what was measured of each target, those left out of which no head's accuracy was kept.

    Each has `name label says role n`, `baseline` (accuracy of what needs no attention), `best`: {kind, index of the
    head, its accuracy, tested: whether there were documents enough to ask, beats: whether choosing it is shown to beat
    the baseline}; and `heads`: for each kind `value`, `low`, `high` and `way` in head order, the better direction of
    each head.
    """
    return [_target_fields(target, target.heads, kinds) for target in targets if target.heads is not None]


def _target_fields(target: Target, heads: pd.DataFrame, kinds: Sequence[Kind]) -> dict[str, Any]:
    return {
        "name": target.what.name,
        "label": target.what.label,
        "overall": target.overall,
        "baseline": json_numbers(np.array([target.baseline]))[0],
        "role": target.role,
        "says": target.what.says,
        "n": target.n,
        "best": None if target.best is None else _best(kinds, target.best),
        "heads": {kind.name: _columns(heads[heads["kind"] == kind.name], kind) for kind in kinds},
    }


def _best(kinds: Sequence[Kind], best: Selected) -> dict[str, Any] | None:
    width = next((kind.heads_per_layer for kind in kinds if kind.name == best.kind), None)
    if width is None:
        return None
    index = (best.layer - 1) * width + best.head - 1
    shown = json_numbers(np.array([float("nan") if best.accuracy is None else best.accuracy.value]))[0]
    return {
        "kind": best.kind,
        "index": index,
        "accuracy": shown,
        "beats": best.beats,
        "tested": best.tested,
    }


def _columns(rows: pd.DataFrame, kind: Kind) -> dict[str, Any] | None:
    """Lay a relation's rows out by head; of two directions the more accurate is kept, of equal ones the first."""
    if rows.empty:
        return None
    better = rows.sort_values("accuracy", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    index = kind.head_indices(better)
    out: dict[str, Any] = {}
    for name, column in (("value", "accuracy"), ("low", "ci_low"), ("high", "ci_high")):
        table = np.full(kind.size, np.nan)
        table[index] = better[column].to_numpy(dtype=np.float64, na_value=np.nan)
        if name == "value" or np.isfinite(table).any():
            out[name] = json_numbers(table.round(4))
    if "direction" in better:
        ways = np.full(kind.size, -1)
        ways[index] = [WAYS.index(way) for way in better["direction"]]
        out["way"] = ways.tolist()
    return out
