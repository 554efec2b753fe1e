"""Table 2 as read from `coref`: the selected heads and the baselines, by type of mention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

from headscope.analyses.coref.baselines import BASELINES
from headscope.analyses.coref.mention_table import MENTION_TYPES
from headscope.report_kit.tables.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records, runs
from headscope.study.study import Study


@dataclass(frozen=True, kw_only=True)
class SelectedHead(ChosenHead):
    """A head selected for all mentions, with its accuracy by type of mention.

    Attributes:
        q: q of the test of the selection against the simple baselines; NaN where nothing was tested.
        cells: accuracy by type of mention; for held-out selection, on documents that did not select the head.
        other_heads: heads selected for single types, where they differ.
    """

    q: float
    cells: Mapping[str, Cell]
    other_heads: Mapping[str, tuple[str, int, int]]


@dataclass(frozen=True)
class Antecedents:
    """Table 2; results that a run did not measure are None or missing."""

    types: tuple[str, ...]
    counts: Mapping[str, int]
    held_out: SelectedHead | None
    same_data: SelectedHead | None
    systems: Mapping[str, Mapping[str, Cell]]
    control: Mapping[str, Runs]


def antecedents_of(run: Study) -> Antecedents | None:
    """Return table 2, or None where the run has no coreference."""
    table = run.tables.get("coref")
    if table is None:
        return None
    rows = records(table)
    present = {str(row["mention_type"]) for row in rows}
    types = tuple([name for name in MENTION_TYPES if name in present] + sorted(present - set(MENTION_TYPES)))
    systems: dict[str, dict[str, Cell]] = {}
    for row in rows:
        if str(row["system"]) != "head":
            systems.setdefault(str(row["system"]), {})[str(row["mention_type"])] = cell_of(row)
    heads = [row for row in rows if str(row["system"]) == "head"]
    control = {name: runs([row for row in heads if str(row["mention_type"]) == name], "control") for name in types}
    order = {name: rank for rank, name in enumerate(BASELINES)}
    return Antecedents(
        types=types,
        counts={name: max(cell_of(row).n for row in rows if str(row["mention_type"]) == name) for name in types},
        held_out=_chosen(heads, "held-out"),
        same_data=_chosen(heads, "same-data"),
        systems=dict(sorted(systems.items(), key=lambda pair: (order.get(pair[0], 9), pair[0]))),
        control={name: spread for name, spread in control.items() if spread is not None},
    )


def _chosen(rows: list[dict[str, Any]], selection: str) -> SelectedHead | None:
    row_by_type = {str(row["mention_type"]): row for row in rows
           if row["model"] == "trained" and row["selection"] == selection
           and not isnan(number(row.get("layer")))}  # fmt: skip
    if not row_by_type:
        return None
    main = "all" if "all" in row_by_type else next(iter(row_by_type))
    heads = {name: (str(row["kind"]), int(row["layer"]), int(row["head"])) for name, row in row_by_type.items()}
    return SelectedHead(
        **chosen_head(row_by_type[main]),
        q=number(row_by_type[main].get("q_value")),
        cells={name: cell_of(row) for name, row in row_by_type.items()},
        other_heads={name: head for name, head in heads.items() if head != heads[main]},
    )
