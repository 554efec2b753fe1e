"""Table 2 for a paper: antecedents found by the chosen head and by systems without attention, by type of mention."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from headscope.analyses.coref.findings import TYPES
from headscope.analyses.coref.found_antecedents import SelectedHead, antecedents_of
from headscope.analyses.coref.section import SYSTEM_NAMES
from headscope.attention.head_id import head_label
from headscope.reporting.kit.cells import Cell
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.paper_table import PaperTable, interval_columns, percent_column, words_column
from headscope.reporting.kit.words import capital

CHOSEN = {
    "held-out": "chosen by halves of the documents and scored on the others",
    "same-data": "chosen and scored on the same documents",
}


def table_2(run: Measured) -> PaperTable | None:
    """Return the table; None where the run has no coreference."""
    found = antecedents_of(run)
    if found is None or not found.types:
        return None
    rows = []
    for how, one in (("held-out", found.held_out), ("same-data", found.same_data)):
        if one is not None:
            rows.append(_row(f"Head {_named(one)}, {CHOSEN[how]}", one.cells, found.types, how, _named(one)))
    for name, cells in found.systems.items():
        rows.append(_row(SYSTEM_NAMES.get(name, name), cells, found.types))
    frame = pd.DataFrame(rows)
    columns = (
        words_column("system", "system"),
        *(percent_column(capital(TYPES.get(name, name)), name) for name in found.types),
    )
    counts = ", ".join(f"{TYPES.get(name, name)} {found.counts[name]:,}" for name in found.types)
    caption = (
        "Mentions for which a right antecedent is picked, in percent, with 95% intervals over documents. Head: the "
        f"earlier mention whose head word gets most attention. Mentions: {counts}."
    )
    return PaperTable(2, caption, frame, columns)


def _named(one: SelectedHead) -> str:
    return (
        head_label(one.layer, one.head)
        if one.kind == "encoder"
        else f"{one.kind} {head_label(one.layer, one.head)}"
    )


def _row(
    system: str, cells: Mapping[str, Cell], types: tuple[str, ...], selection: str = "", head: str = ""
) -> dict[str, object]:
    numbers: dict[str, float] = {}
    for name in types:
        numbers |= interval_columns(name, cells.get(name))
        numbers[f"{name}_n"] = cells[name].n if name in cells else 0
    return {"system": system, "head": head, "selection": selection, **numbers}
