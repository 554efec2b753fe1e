"""Table 2 for a paper: accuracy of the selected head and of systems without attention, by type of mention."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from headscope.analyses.coref.antecedent_results import antecedents_of
from headscope.analyses.coref.findings import TYPES
from headscope.analyses.coref.section import SYSTEM_NAMES
from headscope.attention.head_id import head_label
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.tables.paper_columns import interval_columns, percent_column, words_column
from headscope.report_kit.words import capital
from headscope.study.paper_table import PaperTable
from headscope.study.study import Study

CHOSEN = {"held-out": "held out", "same-data": "same documents"}


def table_2(run: Study) -> PaperTable | None:
    """Return the table; None where the run has no coreference."""
    antecedents = antecedents_of(run)
    if antecedents is None or not antecedents.types:
        return None
    rows = []
    for selection, selected in (("held-out", antecedents.held_out), ("same-data", antecedents.same_data)):
        if selected is not None:
            label = head_label(selected.layer, selected.head)
            name = label if selected.kind == "encoder" else f"{selected.kind} {label}"
            rows.append(_row(f"Head {name}, {CHOSEN[selection]}", selected.cells, antecedents.types, selection, name))
    rows += [
        _row(SYSTEM_NAMES.get(name, name), cells, antecedents.types) for name, cells in antecedents.systems.items()
    ]
    frame = pd.DataFrame(rows)
    columns = (
        words_column("system", "system"),
        *(percent_column(capital(TYPES.get(name, name)), name) for name in antecedents.types),
    )
    counts = ", ".join(f"{TYPES.get(name, name)} {antecedents.counts[name]:,}" for name in antecedents.types)
    caption = (
        "Mentions for which a right antecedent is picked, in percent, with 95% intervals over documents. Head: the "
        "earlier mention whose head word gets most attention; held out: chosen by halves of the documents and scored "
        f"on the others. Mentions: {counts}."
    )
    return PaperTable("table-2", caption, frame, columns)


def _row(
    system: str, cells: Mapping[str, Cell], types: tuple[str, ...], selection: str = "", head: str = ""
) -> dict[str, object]:
    numbers: dict[str, float] = {}
    for name in types:
        numbers |= interval_columns(name, cells.get(name))
        numbers[f"{name}_n_mentions"] = cells[name].n if name in cells else 0
    return {"system": system, "head": head, "selection": selection, **numbers}
