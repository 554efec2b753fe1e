"""Principal directions: the effective dimension of every head's vectors, and maps of tokens on the atlas's cards."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.pca.sums import KEY, ROW
from headscope.analyses.pca.tables import EFFECTIVE, SHARE_NAMES
from headscope.present.blocks import Row
from headscope.present.cells import number, rows_by_head
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import CardWords

ORDER = ("output", "query", "key")
"""The order of the sides on a card."""
MOST_TOKENS = 100
"""Largest number of tokens on a map."""
MANY_HEADS = 512
"""With more heads of a kind, cards have no maps, so that the page opens at once."""
STEPS = 250
"""Number of steps from the middle of a map to its edge."""
LONGEST = 99
CLASSES = {
    "other": "words",
    "period_comma": "period or comma",
    "other_punctuation": "other punctuation",
    "cls": "first token",
    "sep": "separator",
}


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head: the effective dimension of its vectors, and the shares of the first directions."""
    table = about.run.tables.get("pca")
    if table is None or not kind.has_values(table):
        return []
    rows: list[Row] = []
    for head, cells in rows_by_head(table[table["kind"] == kind.name], "vectors", "statistic"):
        row = {
            side if statistic == EFFECTIVE else f"{side}_{statistic}": number(cell["value"])
            for (side, statistic), cell in cells.items()
        }
        rows.append({"head": numbered(kind.name, *head), "few_output": -row.get("output", np.nan), **row})
    return rows


def pca_cards(run: Study, kind: Kind) -> dict[str, Any]:
    """Return `pca` for the cards of the heads of a kind; None if the run has no maps, or the kind too many heads.

    It has `words`: every token as displayed, and in full where that differs; `classes`: names of the token classes;
    `tokens`: by axis (`row`, `key`) the tokens on the maps, each with its class, its position in its input, its index
    among the words around it, and those words as `CardWords.row` numbers them; and `sides`: `side`, `axis`, and
    `heads`, in head order, each with the `shares` of the variance along both directions, and, in the order of the
    tokens, `x` and `y` in steps of the map, `STEPS` from the mean to its edge, and `length` of the vectors from 0 to
    `LONGEST`, the length of the longest vector; None where the layer was not measured.
    """
    table, tokens = run.tables.get("pca_map"), run.tables.get("pca_tokens")
    if table is None or tokens is None or kind.size > MANY_HEADS:
        return {"pca": None}
    map_rows = table[(table["kind"] == kind.name) & (table["token"] <= MOST_TOKENS)]
    if not len(map_rows):
        return {"pca": None}
    words = CardWords()
    tokens_by_axis = _tokens(tokens[(tokens["kind"] == kind.name) & (tokens["token"] <= MOST_TOKENS)], words)
    rows = {kind.head_index(row["head"].layer, row["head"].head): row for row in head_rows(Context.of(run), kind)}
    sides = []
    for side in ORDER:
        heads = _heads(map_rows[map_rows["vectors"] == side], side, rows, kind)
        if any(heads):
            axis = KEY if side == "key" and KEY in tokens_by_axis else ROW
            sides.append({"side": side, "axis": axis, "heads": heads})
    return {
        "pca": {"words": words.drawn(), "classes": list(CLASSES.values()), "tokens": tokens_by_axis, "sides": sides}
    }


def _tokens(table: pd.DataFrame, words: CardWords) -> dict[str, list[list[Any]]]:
    by_axis: dict[str, list[list[Any]]] = {}
    numbers = {name: number for number, name in enumerate(CLASSES)}
    for row in table.sort_values(["axis", "token"]).to_dict("records"):
        around = words.row(row["tokens"], row.get("continues_word"))
        at = int(row["position"]) - int(row["start"])
        token = [numbers[str(row["token_class"])], int(row["position"]), at, around]
        by_axis.setdefault(str(row["axis"]), []).append(token)
    return by_axis


def _heads(table: pd.DataFrame, side: str, rows: Mapping[int, Row], kind: Kind) -> list[dict[str, Any] | None]:
    maps: list[dict[str, Any] | None] = [None] * kind.size
    for at, tokens in table.assign(index=kind.head_indices(table)).groupby("index"):
        index = int(str(at))
        shares = [rows.get(index, {}).get(f"{side}_{name}", nan) for name in SHARE_NAMES[:2]]
        ordered = tokens.sort_values("token")
        x, y, length = (ordered[name].fillna(0.0).to_numpy(float) for name in ("first", "second", "length"))
        # Both axes have the same scale.
        furthest = max(float(np.abs(x).max()), float(np.abs(y).max()))
        maps[index] = {
            "shares": [None if isnan(share) else round(share, 3) for share in shares],
            "x": _stepped(x, furthest, STEPS),
            "y": _stepped(y, furthest, STEPS),
            "length": _stepped(length, float(length.max()), LONGEST),
        }
    return maps


def _stepped(values: NDArray[np.float64], furthest: float, steps: int) -> list[int]:
    """Return values as whole steps; a value of size `furthest` is `steps` away from 0."""
    whole: list[int] = np.rint(values * (steps / furthest if furthest > 0 else 0.0)).astype(int).tolist()
    return whole


PAGE = Page(__name__, lambda _: (), uses=(head_rows,))
PARTS = PAGE.parts(
    group="what",
    explained=("pca",),
    cards=pca_cards,
    needed={"pca": ("pca_map", "run headscope report again with --include pca")},
)
