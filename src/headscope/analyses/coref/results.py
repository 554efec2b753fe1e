"""Table 2 as read from a run: the selected heads and the baselines by type of mention; for a paper and for searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from headscope.attention.head_id import head_label
from headscope.present.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records, runs
from headscope.present.head_functions import BestHead, FunctionScores, HeadFunction
from headscope.present.numbers import interval_columns, percent_column, words_column
from headscope.present.paper_table import PaperTable
from headscope.present.study import Study
from headscope.present.words import COREFERENCE, capital, short

TYPES = {"all": "all mentions", "pronoun": "pronouns", "proper": "proper names", "nominal": "nominals"}
SELECTIONS = {"held-out": "held out", "same-data": "same documents"}
SYSTEMS = {
    "nearest": "Nearest candidate",
    "head match": "Same head word",
    "head match, else nearest": "Same head word, else nearest",
    "rules": "Four rules",
    "random": "Random",
    "first": "First name",
}
ANTECEDENT = HeadFunction(
    name=COREFERENCE,
    label=short(COREFERENCE),
    description="an earlier mention of the same entity",
    search_words=("coreference", "coref", "antecedent", "pronoun", "anaphora", "mention", "entity"),
    role=COREFERENCE,
    is_relation=True,
)


@dataclass(frozen=True, kw_only=True)
class SelectedHead(ChosenHead):
    """A head selected for all mentions, with its accuracy by type of mention.

    Attributes:
        q: q of the test of the selection against the simple baselines; NaN where nothing was tested.
        cells: accuracy by type of mention; for held-out selection, on documents that did not select the head.
    """

    q: float
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Antecedents:
    """Table 2; results that a run did not measure are missing.

    Attributes:
        counts: number of mentions by type.
        selected: the head selected on other documents, `held-out`, and on the same, `same-data`.
        systems: accuracy by baseline and type.
        control: accuracy of heads selected with random weights, by type.
    """

    counts: Mapping[str, int]
    selected: Mapping[str, SelectedHead]
    systems: Mapping[str, Mapping[str, Cell]]
    control: Mapping[str, Runs]

    @property
    def held_out(self) -> SelectedHead | None:
        """The head selected on other documents."""
        return self.selected.get("held-out")


def antecedents_of(run: Study) -> Antecedents | None:
    """Return table 2, or None where the run has no coreference."""
    table = run.tables.get("coref")
    if table is None:
        return None
    counts: dict[str, int] = {}
    heads: dict[str, list[dict[str, Any]]] = {}
    selected: dict[str, dict[str, dict[str, Any]]] = {}
    systems: dict[str, dict[str, Cell]] = {}
    for row in records(table):
        mention_type = str(row["mention_type"])
        counts[mention_type] = max(counts.get(mention_type, 0), int(row["n_mentions"]))
        if row["system"] != "head":
            systems.setdefault(str(row["system"]), {})[mention_type] = cell_of(row)
            continue
        heads.setdefault(mention_type, []).append(row)
        if row["model"] == "trained" and not isnan(number(row["layer"])):
            selected.setdefault(str(row["selection"]), {})[mention_type] = row
    control = {name: runs(rows, "control") for name, rows in heads.items()}
    return Antecedents(
        counts=counts,
        selected={name: _selected(selected[name]) for name in SELECTIONS if name in selected},
        systems=systems,
        control={name: spread for name, spread in control.items() if spread is not None},
    )


def _selected(row_by_type: Mapping[str, dict[str, Any]]) -> SelectedHead:
    main = row_by_type.get("all") or next(iter(row_by_type.values()))
    cells = {name: cell_of(row) for name, row in row_by_type.items()}
    return SelectedHead(**chosen_head(main), q=number(main.get("q_value")), cells=cells)


def antecedent_scores(run: Study) -> list[FunctionScores]:
    """Return the accuracies of every head, as a function of heads; empty where the run has no coreference."""
    antecedents, table = antecedents_of(run), run.tables.get("coref_heads")
    if antecedents is None:
        return []
    rows = None if table is None else table[(table["model"] == "trained") & (table["mention_type"] == "all")]
    heads = None if rows is None or rows.empty else rows.rename(columns={"accuracy": "value"})
    best = {}
    if chosen := antecedents.held_out:
        at = run.roles[["kind", "layer", "head"]].eq((chosen.kind, chosen.layer, chosen.head)).all(axis=1)
        finds = any(COREFERENCE in list(relations) for relations in run.roles.loc[at, "finds"])
        value, tested = chosen.cells.get("all"), not isnan(chosen.q)
        best[chosen.kind] = BestHead(layer=chosen.layer, head=chosen.head, value=value, tested=tested, passes=finds)
    nearest = antecedents.systems.get("nearest", {}).get("all")
    return [
        FunctionScores(
            function=ANTECEDENT,
            n_cases=antecedents.counts.get("all", 0),
            baseline=float("nan") if nearest is None else nearest.value,
            best=best,
            heads=heads,
        )
    ]


def table_2(run: Study) -> PaperTable | None:
    """Return table 2 for a paper; None where the run has no coreference."""
    antecedents = antecedents_of(run)
    if antecedents is None or not antecedents.counts:
        return None
    types = [(name, TYPES.get(name, name), n) for name, n in antecedents.counts.items()]
    columns = (words_column("system", "system"), *(percent_column(capital(title), name) for name, title, _ in types))
    caption = (
        "Mentions for which a right antecedent is picked, in percent, with 95% intervals over documents. Head: the "
        "earlier mention whose head word gets most attention; held out: chosen by halves of the documents and scored "
        f"on the others. Mentions: {', '.join(f'{title} {n:,}' for _, title, n in types)}."
    )
    rows: list[tuple[dict[str, object], Mapping[str, Cell]]] = []
    for selection, best in antecedents.selected.items():
        label = head_label(best.layer, best.head)
        name = label if best.kind == "encoder" else f"{best.kind} {label}"
        system = f"Head {name}, {SELECTIONS[selection]}"
        rows.append(({"system": system, "head": name, "selection": selection}, best.cells))
    for name, cells in antecedents.systems.items():
        rows.append(({"system": SYSTEMS.get(name, name), "head": "", "selection": ""}, cells))
    for row, cells in rows:
        for name, _, n in types:
            row |= {**interval_columns(name, cells.get(name)), f"{name}_n_mentions": n}
    return PaperTable("table-2", caption, pd.DataFrame([row for row, _ in rows]), columns)
