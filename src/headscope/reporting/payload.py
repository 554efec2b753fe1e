"""What the page's script knows: every statistic of every head, and every head's map on one short sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.figures.labels import LONGEST_TITLE, label, shorten, visible
from headscope.figures.line_diagram import weights_of
from headscope.reporting.arrays import Kind
from headscope.reporting.inputs import ReportInputs
from headscope.reporting.words import ROLES, SHARES, STATISTICS, Words, capital
from headscope.views.payload import pack

SCHEMA = 1


def data_block(kinds: Sequence[Kind], words: Words) -> dict[str, Any]:
    """Return the statistics for the script: per kind flat lists in head order (layer by layer), null where missing."""
    several = len(kinds) > 1
    occurring = [name for name in STATISTICS if any(kind.occurs(name) for kind in kinds)]
    return {
        "schema": SCHEMA,
        "statistics": [
            {"name": name, "label": capital(words.statistics[name]), "share": name in SHARES}
            for name in occurring
        ],
        "roles": [
            {"name": name, "label": capital(words.roles[name]), **_role_words(name, words)} for name in ROLES
        ],
        "kinds": [
            {
                "kind": kind.name,
                "label": f"{kind.name} head" if several else "head",
                "layers": kind.layers,
                "heads": kind.heads_per_layer,
                "roles": [ROLES.index(role) if role in ROLES else len(ROLES) - 1 for role in kind.roles],
                "values": {name: _columns(kind, name) for name in occurring if kind.occurs(name)},
            }
            for kind in kinds
        ],
    }


def _role_words(name: str, words: Words) -> dict[str, str | None]:
    """Say what a head of this role does, around the statistic that tells it."""
    share = {
        "previous": "of its attention is on the previous token",
        "next": "of its attention is on the next token",
        "cls": f"of its attention is on {words.cls}",
        "sep": f"of its attention is on {words.sep}",
        "punctuation": "of its attention is on periods and commas",
    }
    if name in share:
        return {"statistic": name, "says": share[name]}
    if name == "broad":
        return {"statistic": "entropy", "says": "of entropy: spread over most of the input"}
    return {"statistic": None, "says": "No single behaviour passes its threshold"}


def _columns(kind: Kind, statistic: str) -> dict[str, Any]:
    values = kind.heads[statistic].reshape(-1, 5)
    out: dict[str, Any] = {"value": _numbers(values[:, 0])}
    if np.isfinite(values[:, 1]).any():
        out["low"], out["high"] = _numbers(values[:, 1]), _numbers(values[:, 2])
    out["uniform"], out["n"] = _constant(_numbers(values[:, 3])), _constant(_numbers(values[:, 4]))
    return out


def _numbers(values: np.ndarray) -> list[float | int | None]:
    rounded = [None if np.isnan(value) else round(float(value), 6) for value in values]
    return [int(value) if value is not None and value == int(value) else value for value in rounded]


def _constant(values: list[float | int | None]) -> list[float | int | None] | float | int | None:
    """One number where all heads share it, as they do for n and uniform values."""
    return values[0] if len(set(values)) == 1 else values


def maps_block(inputs: ReportInputs, kinds: Sequence[Kind]) -> dict[str, Any]:
    """Return every head's map on the shared sentence: {kind: sentences, and for each head its sentence and bytes}."""
    shared = inputs.examples[inputs.examples["behaviour"] == "shared"]
    return {kind.name: _maps(kind, shared[shared["kind"] == kind.name]) for kind in kinds}


def _maps(kind: Kind, rows: pd.DataFrame) -> dict[str, Any]:
    sentences: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    which: list[int | None] = [None] * kind.size
    packed: list[str | None] = [None] * kind.size
    largest: list[list[float] | None] = [None] * kind.size
    for _, row in rows.iterrows():
        tokens = tuple(str(token) for token in row["tokens"])
        keys = tuple(str(key) for key in row["keys"])
        place = (int(row["layer"]) - 1) * kind.heads_per_layer + int(row["head"]) - 1
        which[place] = sentences.setdefault((tokens, keys), len(sentences))
        packed[place], largest[place] = pack(weights_of(row))
    return {
        "sentences": [{"queries": _shown(queries), "keys": _shown(keys)} for queries, keys in sentences],
        "which": which,
        "bytes": packed,
        "largest": largest,
    }


def _shown(tokens: Sequence[str]) -> list[list[str]]:
    """Write each token as it is drawn, and in full where that differs."""
    out = []
    for token in tokens:
        drawn, whole = label(token), shorten(visible(token[: 2 * LONGEST_TITLE]), LONGEST_TITLE)
        out.append([drawn] if drawn == whole else [drawn, whole])
    return out
